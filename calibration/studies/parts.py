"""Scoring a corpus part by part: here, on other processors or other machines, and again only where it was cut short."""

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from ..contract import ScoreContract, check_cosine_range
from ..errors import ParameterError, StoreError, listed
from ..scores import Summaries, score_block
from ..sources.base import Block, DividedSource, Part

BLOCK_ROWS = 8192
"""Passages scored at once; more leave the processor's cache, fewer cost a call each."""

AHEAD = 2
"""Blocks read while another is scored."""

JOINING = 10.0
"""Seconds that a Dask scheduler may take to answer, and its first worker to appear."""

PATIENCE = 5.0
"""Seconds that a cancelled read may take to end; a server at work on a long statement is left to its timeout."""

SLACK = 1e-3
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


@dataclass
class Seen:
    """What blocks of a corpus held; `rows` counts passages, `documents` tells whether they name theirs."""

    summaries: Summaries
    rows: int = 0
    documents: bool = False

    def merge(self, other: "Seen") -> None:
        """Take over what was seen of a disjoint part."""
        self.summaries.merge(other.summaries)
        self.rows += other.rows
        self.documents = self.documents or other.documents


def score_blocks(blocks: Iterable[Block], scoring: Scoring, step: Callable[[int], None] | None = None) -> Seen:
    """Score blocks while the next are read.

    Parameters
    ----------
    step : callable, optional
        Called with the passages of every block that is done.
    """
    seen = Seen(scoring.start.empty())
    # a processor is left to the server and to the thread that reads: a second one here would only wait for them
    with _read_ahead(_gathered(blocks)) as ahead, _threads().limit(limits=max(1, (os.cpu_count() or 2) - 1)):
        for block in ahead:
            _add(seen.summaries, block, scoring)
            seen.rows += len(block.doc_ids)
            seen.documents = seen.documents or block.document_ids is not None
            if step is not None:
                step(len(block.doc_ids))
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


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def _add(summaries: Summaries, block: Block, scoring: Scoring) -> None:
    ids = block.doc_ids if block.document_ids is None else block.document_ids
    contract = scoring.contract
    if block.scores is not None and block.query_row is not None:
        similarity = contract.similarity(block.scores).astype(np.float32)
        summaries.add(ids, similarity[None, :], rows=[block.query_row])
        return
    if block.vectors is None:
        raise StoreError("a block of the source has neither vectors nor the scores of a query; the source is broken.")
    if contract.metric in ("cosine_similarity", "cosine_distance"):
        # the cosine itself, rather than through a distance and back in float32
        cosine = score_block(scoring.queries, block.vectors, "cosine_similarity")
        if not (cosine.max(initial=0.0) <= 1.0 + SLACK and cosine.min(initial=0.0) >= -1.0 - SLACK):
            check_cosine_range(cosine.astype(np.float64), slack=SLACK)
        summaries.add(ids, cosine)
    else:
        raw = score_block(scoring.queries, block.vectors, contract.metric)
        summaries.add(ids, contract.similarity(raw).astype(np.float32))


def _gathered(blocks: Iterable[Block]) -> Generator[Block]:
    """Put small blocks of vectors together; a source reads best in pieces that are too small to score."""
    waiting: list[Block] = []
    try:
        for block in blocks:
            if block.vectors is None:
                yield block
                continue
            waiting.append(block)
            if sum(len(one.doc_ids) for one in waiting) >= BLOCK_ROWS:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:  # at once, and its connection with it
            close()


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    documents = [one.document_ids for one in blocks]
    return replace(
        blocks[0],
        doc_ids=list(chain.from_iterable(one.doc_ids for one in blocks)),
        document_ids=None if documents[0] is None else list(chain.from_iterable(one or [] for one in documents)),
        vectors=np.concatenate([one.vectors for one in blocks if one.vectors is not None]),
    )


@contextmanager
def _read_ahead(blocks: Generator[Block]) -> Iterator[Iterator[Block]]:
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

    def received() -> Iterator[Block]:
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
