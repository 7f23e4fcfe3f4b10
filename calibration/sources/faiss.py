"""Faiss indexes that keep whole vectors: flat, HNSW and IVF, with or without ids of their own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..contract import metric_named
from ..errors import ParameterError, StoreError
from .arrays import ArraySource
from .base import SHOWN_IDS, Floats32, Floats64, Preflight, check_queries, counted
from .search import Candidates, Queries, ScoredBlock, needed_vectors

KINDS = {
    "IndexFlat": "flat",
    "IndexFlatL2": "flat",
    "IndexFlatIP": "flat",
    "IndexHNSWFlat": "hnsw",
    "IndexIVFFlat": "ivf",
}
WRAPPERS = ("IndexIDMap", "IndexIDMap2")
BLOCK_ROWS = 8192
MAX_EF, MISSING = 100_000, -1


class FaissSearcher:
    """A Faiss index as deployed.

    Parameters
    ----------
    index : faiss.Index
        METRIC_L2 reports *squared* L2; the inner product is what it says.
    doc_ids : sequence of str, optional
        Ids by position; by default the index's own numbers.
    ef_search, nprobe : int, optional
        Search settings of HNSW and IVF; by default those stored in the index.

    Raises
    ------
    StoreError
        An index that compresses its vectors or measures something else.
    ParameterError
        A setting out of range, or of another kind of index.
    """

    complete = True
    filtered = False
    reach = None

    def __init__(
        self,
        index: Any,
        doc_ids: Sequence[str] | None = None,
        *,
        ef_search: int | None = None,
        nprobe: int | None = None,
    ) -> None:
        faiss = _faiss()
        self._owner = index  # downcasting gives views, which do not keep the index alive
        outer = faiss.downcast_index(index)
        self._index = outer
        wrapped = type(outer).__name__ in WRAPPERS
        self._inner = faiss.downcast_index(outer.index) if wrapped else outer
        self._kind = _kind(self._inner)
        self.metric = _metric(faiss, self._inner)
        _set(self._inner, self._kind, ef_search, nprobe)
        numbers = faiss.vector_to_array(outer.id_map).tolist() if wrapped else list(range(outer.ntotal))
        self._names = _names(numbers, doc_ids, wrapped)
        self._vectors = _stored(faiss, self._inner)
        self._rows = {name: row for row, name in enumerate(self._names.values())}
        self._source = ArraySource(list(self._rows), self._vectors, metric=self.metric)

    @classmethod
    def read(cls, path: Path, ids: Path | None = None, **settings: Any) -> "FaissSearcher":
        """Read an index file and a text file of ids, one a line.

        Reading an index is deserialising C++ structures: a crafted file can crash the process or worse, so read only
        files that you or somebody you trust wrote.
        """
        faiss = _faiss()
        if not path.is_file():
            raise StoreError(f"the Faiss index {path} does not exist.")
        try:
            index = faiss.read_index(str(path))
        except RuntimeError as error:
            last = str(error).strip().rsplit("Error: ", 1)[-1]
            raise StoreError(f"{path.name} is not a Faiss index that this version reads ({last}).") from None
        return cls(index, None if ids is None else _lines(ids), **settings)

    @property
    def approximate(self) -> bool:
        """Whether the index may miss documents."""
        return self._kind != "flat"

    def frozen(self) -> nullcontext[None]:
        """Nothing to hold: the index is in memory."""
        return nullcontext()

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything."""
        return self._source.preflight()

    def all_scores(self, queries: Queries) -> Iterator[ScoredBlock]:
        """Yield the whole corpus with scores in Faiss' own arithmetic."""
        faiss = _faiss()
        vectors = self._checked(queries)
        for block in self._source.blocks(vectors):
            if block.vectors is not None:
                scores = faiss.pairwise_distances(vectors, np.ascontiguousarray(block.vectors), self._inner.metric_type)
                yield ScoredBlock(block.doc_ids, block.vectors, scores)

    def scores_of(self, queries: Queries, doc_ids: Sequence[Sequence[str]]) -> list[Floats64]:
        """Return Faiss' own numbers for some documents of each query; NaN for those that are not there."""
        faiss = _faiss()
        vectors = self._checked(queries)
        found = []
        for row, names in enumerate(doc_ids):
            values = np.full(len(names), np.nan)
            known = [place for place, name in enumerate(names) if name in self._rows]
            if known:
                documents = self._vectors[[self._rows[names[place]] for place in known]]
                one = vectors[row : row + 1]
                values[known] = faiss.pairwise_distances(one, documents, self._inner.metric_type)[0]
            found.append(values)
        return found

    def search(self, queries: Queries, k: int) -> Candidates:
        """Search as deployed; the -1 with which Faiss pads short lists is no candidate."""
        scores, numbers = self._index.search(self._checked(queries), k)
        real = numbers != MISSING
        return Candidates(
            [[self._names[int(number)] for number in row[kept]] for row, kept in zip(numbers, real, strict=True)],
            [row[kept].astype(np.float64) for row, kept in zip(scores, real, strict=True)],
        )

    def left_out(self) -> dict[str, str]:
        """Return nothing: L2 and the inner product are defined for every vector."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Return JSON facts for the receipt, the settings as the index has them."""
        faiss = _faiss()
        settings: dict[str, Any] = {"kind": self._kind}
        if self._kind == "hnsw":
            settings["ef_search"] = int(self._inner.hnsw.efSearch)
        if self._kind == "ivf":
            settings |= {"nprobe": int(self._inner.nprobe), "nlist": int(self._inner.nlist)}
        return {
            "kind": "faiss",
            "adapter": f"faiss {faiss.__version__}",
            "rows": len(self._names),
            "dimensions": int(self._inner.d),
            "metric": self.metric,
            "index": settings,
        }

    def _checked(self, queries: Queries) -> Floats32:
        return check_queries(needed_vectors(queries), int(self._inner.d), self.metric, "the Faiss index")


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise StoreError(
            "Faiss is not installed; pip install 'retrieval-calibration[faiss]', or give the scores as a file."
        ) from None
    return faiss


def _kind(index: Any) -> str:
    name = type(index).__name__
    if name not in KINDS:
        raise StoreError(
            f"a Faiss {name} is not compared here: expected {', '.join(KINDS)} (or an IndexIDMap around one). Others "
            "compress or transform their vectors, so that their exact scores are not in the index; search with it "
            "yourself and give its scores as a file."
        )
    return KINDS[name]


def _metric(faiss: Any, index: Any) -> str:
    known = {faiss.METRIC_L2: "squared_l2", faiss.METRIC_INNER_PRODUCT: "inner_product"}
    if index.metric_type not in known:
        raise StoreError(
            f"the Faiss index measures with metric {index.metric_type}; expected METRIC_L2 or METRIC_INNER_PRODUCT."
        )
    return metric_named(known[index.metric_type]).name


def _set(index: Any, kind: str, ef_search: int | None, nprobe: int | None) -> None:
    problems = []
    if ef_search is not None:
        if kind != "hnsw":
            problems.append(f"ef_search is for HNSW, and this index is {kind}")
        elif not 1 <= ef_search <= MAX_EF:
            problems.append(f"ef_search is {ef_search}; allowed 1..{MAX_EF}")
        else:
            index.hnsw.efSearch = ef_search
    if nprobe is not None:
        if kind != "ivf":
            problems.append(f"nprobe is for IVF, and this index is {kind}")
        elif not 1 <= nprobe <= index.nlist:
            problems.append(f"nprobe is {nprobe}; allowed 1..{index.nlist}, the lists of this index")
        else:
            index.nprobe = nprobe
    if problems:
        raise ParameterError("; ".join(problems) + ".")


def _names(numbers: list[int], doc_ids: Sequence[str] | None, wrapped: bool) -> dict[int, str]:
    if doc_ids is None:
        _refuse_repeated(numbers)
        return {number: str(number) for number in numbers}
    if wrapped:
        raise StoreError("the Faiss index carries ids of its own (an IndexIDMap); leave the file of ids away.")
    if len(doc_ids) != len(numbers):
        raise StoreError(f"{len(doc_ids)} ids for {len(numbers)} vectors in the Faiss index; expected one per vector.")
    _refuse_repeated(doc_ids)
    return {number: str(name) for number, name in zip(numbers, doc_ids, strict=True)}


def _refuse_repeated(names: Sequence[object]) -> None:
    repeated = [f"{name} ({count} times)" for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise StoreError(
            f"{counted(len(repeated), 'id')} of the Faiss index stand on more than one vector: "
            f"{', '.join(repeated[:SHOWN_IDS])}. Expected one id per vector."
        )


def _stored(faiss: Any, index: Any) -> Floats32:
    if index.ntotal == 0:
        raise StoreError("the Faiss index is empty.")
    if KINDS[type(index).__name__] == "ivf":
        try:
            index.make_direct_map()
        except RuntimeError:
            raise StoreError(
                "the Faiss IVF index was filled with add_with_ids, so its vectors cannot be read by position. Wrap it "
                "in an IndexIDMap and add the ids there, or give its scores as a file."
            ) from None
    vectors: npt.NDArray[np.float32] = index.reconstruct_n(0, index.ntotal)
    return vectors


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise StoreError(f"the file of ids {path} does not exist.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise StoreError(f"{path.name} is not UTF-8; expected a text file of ids, one a line.") from None
    # only line ends end a line: an id may hold any other character
    lines = text.removesuffix("\n").split("\n")
    empty = [number for number, line in enumerate(lines, 1) if not line.strip()]
    if empty:
        raise StoreError(f"{path.name} line {empty[0]} has no id; expected one id a line, in the order of the index.")
    return lines
