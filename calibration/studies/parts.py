"""Scoring a corpus part by part: here, on other processors or other machines, and again only where it was cut short."""

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from ..contract import ScoreContract
from ..errors import ParameterError, StoreError, listed
from ..scores import BlockScorer, Summaries
from ..sources.base import Block, DividedSource, Part

BLOCK_ROWS = 8192
"""Passages scored at once; more leave the processor's cache, fewer cost a call each."""

AHEAD = 2
"""Blocks read while another is scored."""

JOINING = 10.0
"""Seconds that a Dask scheduler may take to answer, and its first worker to appear."""

PATIENCE = 5.0
"""Seconds that a cancelled read may take to end; a server still at work on its statement is asked to cancel it."""

PACKAGE = "retrieval-calibration"


@dataclass(frozen=True)
class Workers:
    """Who reads and scores the parts: processes of this machine, or a cluster's.

    Attributes
    ----------
    count : int
        How many side by side; each holds one connection. 1 works in this process.
    backend : str
        "loky" for this machine, or "dask", whose `scheduler` then is an address such as tcp://host:8786.
    """

    count: int = 1
    backend: str = "loky"
    scheduler: str | None = None

    @property
    def here(self) -> bool:
        """Whether everything is done in this process."""
        return self.count == 1 and self.backend == "loky"


@dataclass(frozen=True)
class Scoring:
    """What every block is scored with.

    Attributes
    ----------
    queries : ndarray of float32, (q, d)
    start : Summaries
        Empty, with the settings of all parts.
    """

    queries: npt.NDArray[np.float32]
    contract: ScoreContract
    start: Summaries

    def scorer(self) -> BlockScorer:
        """Scorer of vectors: of the cosine itself, rather than through a distance and back in float32."""
        return BlockScorer(self.queries, "cosine_similarity" if self.of_cosines else self.contract.metric)

    @property
    def of_cosines(self) -> bool:
        """Whether the metric is the cosine or its distance."""
        return self.contract.metric in ("cosine_similarity", "cosine_distance")


@dataclass
class Seen:
    """What blocks of a corpus held; `rows` counts passages, `documents` tells whether they name theirs."""

    summaries: Summaries
    rows: int = 0
    documents: bool = False

    def merge(self, other: "Seen") -> "Seen":
        """Take over what was seen of a disjoint part, and give the sum."""
        self.summaries.merge(other.summaries)
        self.rows += other.rows
        self.documents = self.documents or other.documents
        return self


def score_blocks(blocks: Iterable[Block], scoring: Scoring, step: Callable[[int], None] | None = None) -> Seen:
    """Score blocks while the next are read.

    Parameters
    ----------
    step : callable, optional
        Called with the passages of every block that is done.
    """
    seen, products = Seen(scoring.start.empty()), _Products(scoring)
    # a processor is left to the server and to the thread that reads: a second one here would only wait for them
    with _read_ahead(_gathered(blocks)) as ahead, _threads().limit(limits=_spare_threads()):
        for gathered in ahead:
            rows = sum(len(block.doc_ids) for block in gathered)
            products.add(gathered, seen.summaries)
            seen.rows += rows
            seen.documents = seen.documents or gathered[0].document_ids is not None
            if step is not None:
                step(rows)
    return seen


def score_parts(
    source: DividedSource, parts: Iterable[Part], scoring: Scoring, workers: Workers, step: Callable[[int], None]
) -> Iterator[tuple[Part, Seen]]:
    """Score parts and yield each as it is done, in any order; the sum does not depend on the order or the workers."""
    if workers.here:
        for part in parts:
            yield part, score_blocks(source.read(part), scoring, step)
        return
    from joblib import Parallel, delayed

    with _backend(workers):
        parallel = Parallel(n_jobs=workers.count, return_as="generator_unordered", batch_size=1)
        for part, seen in parallel(delayed(_one)(source, part, scoring) for part in parts):
            step(seen.rows)
            yield part, seen


def _one(source: DividedSource, part: Part, scoring: Scoring) -> tuple[Part, Seen]:
    return part, score_blocks(source.read(part), scoring)


@contextmanager
def _backend(workers: Workers) -> Iterator[None]:
    import joblib

    if workers.backend != "dask":
        with joblib.parallel_config(backend=workers.backend):
            yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(
            "backend dask needs the package distributed, here and where the workers run: "
            "pip install 'retrieval-calibration[dask]'."
        ) from None
    if workers.scheduler is None:
        raise ParameterError("backend dask needs the scheduler's address, such as --scheduler tcp://host:8786.")
    try:
        client = Client(workers.scheduler, timeout=JOINING, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ParameterError(f"no Dask scheduler at {workers.scheduler}: {error}") from None
    with client:
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=JOINING)
        _check_workers(client.run(version, PACKAGE, on_error="return"), workers.scheduler)
        with joblib.parallel_config(backend="dask", client=client, pure=False):
            yield


def _check_workers(found: Mapping[str, object], scheduler: str) -> None:
    """Refuse a cluster that cannot do it: where the package is missing, tasks would wait for ever."""
    own = version(PACKAGE)
    wrong = [f"{worker}: {what}" for worker, what in found.items() if what != own]
    if not found:
        raise ParameterError(f"the Dask scheduler at {scheduler} has no worker; start one: dask worker {scheduler}")
    if wrong:
        raise ParameterError(f"every Dask worker needs {PACKAGE} {own}:\n" + listed(wrong))


def _spare_threads() -> int:
    """All processors but one, or fewer where fewer are allowed already."""
    allowed = [int(library["num_threads"]) for library in _threads().info()]
    return max(1, min([(os.cpu_count() or 2) - 1, *allowed]))


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


class _Products:
    """Scores blocks of vectors, several at once, into memory that is used again."""

    def __init__(self, scoring: Scoring) -> None:
        self._contract, self._scorer, self._of_cosines = scoring.contract, scoring.scorer(), scoring.of_cosines
        self._room = np.empty((len(scoring.queries), 0), dtype=np.float32)

    def add(self, blocks: Sequence[Block], summaries: Summaries) -> None:
        """Score blocks of vectors, or take the scores of one query as they are."""
        first = blocks[0]
        if first.scores is not None and first.query_row is not None:
            similarity = self._contract.similarity(first.scores).astype(np.float32)
            summaries.add(_names(first), similarity[None, :], rows=[first.query_row])
            return
        rows, start = sum(len(block.doc_ids) for block in blocks), 0
        if rows > self._room.shape[1]:
            self._room = np.empty((len(self._room), rows), dtype=np.float32)
        scores = self._room[:, :rows]
        for block in blocks:
            if block.vectors is None:
                raise StoreError(
                    "a block of the source has neither vectors nor scores of a query; the source is broken."
                )
            end = start + len(block.doc_ids)
            self._scorer.score(block.vectors, out=scores[:, start:end])
            start = end
        similarity = scores if self._of_cosines else self._contract.similarity(scores).astype(np.float32)
        summaries.add(list(chain.from_iterable(map(_names, blocks))), similarity)


def _names(block: Block) -> list[str]:
    return block.doc_ids if block.document_ids is None else block.document_ids


def _gathered(blocks: Iterable[Block]) -> Generator[list[Block]]:
    """Put small blocks of vectors together; a source reads best in pieces that are too small to summarise."""
    waiting: list[Block] = []
    rows = 0
    try:
        for block in blocks:
            if block.scores is not None:
                yield [block]
                continue
            waiting.append(block)
            rows += len(block.doc_ids)
            if rows >= BLOCK_ROWS:
                yield waiting
                waiting, rows = [], 0
        if waiting:
            yield waiting
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:  # at once, and its connection with it
            close()


@contextmanager
def _read_ahead(blocks: Generator[list[Block]]) -> Iterator[Iterator[list[Block]]]:
    """Read blocks in a thread of their own, a few ahead; the source is closed there when the context ends."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=AHEAD)
    stop, end = threading.Event(), object()

    def read() -> None:
        try:
            for block in blocks:
                waiting.put(block)
                if stop.is_set():
                    break
            waiting.put(end)
        except BaseException as error:  # it is raised where the blocks are used
            waiting.put(error)
        finally:
            blocks.close()

    def received() -> Iterator[list[Block]]:
        while (item := waiting.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item

    thread = threading.Thread(target=read, name="calibration-read-ahead", daemon=True)
    thread.start()
    try:
        yield received()
    finally:
        stop.set()
        patience = time.monotonic() + PATIENCE
        while thread.is_alive() and time.monotonic() < patience:
            with suppress(queue.Empty):
                waiting.get(timeout=0.05)
