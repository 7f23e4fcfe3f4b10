"""A score file of any backend as a search: what it returned is in the file, with its own numbers."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..contract import metric_named
from ..errors import StoreError
from ..labels.files import read_table
from ..labels.tables import SCORES, Findings, fields_of
from .base import Floats64, Preflight
from .scorefile import Pairs
from .search import Candidates, Queries, ScoredBlock, best_first


class FileSearcher:
    """Candidates and raw scores that somebody's search left in a file.

    Parameters
    ----------
    path : Path
        .csv, .tsv, .jsonl or .parquet with query_id, doc_id and score, as for `read_scores`; judgements are not needed.
    metric : str
        What the raw scores are.
    """

    approximate = False
    complete = False
    filtered = False
    reach = None

    def __init__(self, path: Path, *, metric: str) -> None:
        if not path.is_file():
            raise StoreError(f"the score file {path} does not exist.")
        self.metric = metric_named(metric).name
        self._name = path.name
        frame, self.query_ids = _read(path)
        self._lists = {
            str(query): (rows["doc_id"].tolist(), rows["score"].to_numpy(dtype=np.float64))
            for query, rows in frame.groupby("query_id", sort=False)
        }
        self._frame: pd.DataFrame = frame

    def frozen(self) -> nullcontext[None]:
        """Nothing to hold: the file is read."""
        return nullcontext()

    def preflight(self) -> Preflight:
        """Count the documents; a file has no vectors to measure."""
        documents = int(self._frame["doc_id"].nunique())
        return Preflight(documents, 0, 0, [], [], {}, None, None, 0, self.metric)

    def all_scores(self, queries: Queries) -> Iterator[ScoredBlock]:
        """Refuse: a file holds what a search returned, not every score."""
        raise StoreError(f"{self._name} holds the candidates of a search, not every score of the corpus.")

    def scores_of(self, queries: Queries, doc_ids: Sequence[Sequence[str]]) -> list[Floats64]:
        """Return the file's numbers for some documents of each query; NaN for those it does not hold."""
        found = []
        for query, names in zip(queries.ids, doc_ids, strict=True):
            known = dict(zip(*self._lists.get(query, ([], [])), strict=True))
            found.append(np.array([known.get(name, np.nan) for name in names], dtype=np.float64))
        return found

    def search(self, queries: Queries, k: int) -> Candidates:
        """Give the file's best `k` of each query."""
        known = set(self.query_ids)
        missing = [query for query in queries.ids if query not in known]
        if missing:
            shown = ", ".join(missing[:5])
            raise StoreError(
                f"{self._name} says nothing of {len(missing)} of {len(queries.ids)} queries: {shown}. A query that "
                "returned nothing needs a row with an empty doc_id."
            )
        lists = [best_first(*self._lists.get(query, ([], np.zeros(0))), self.metric) for query in queries.ids]
        return Candidates([ids[:k] for ids, _ in lists], [scores[:k] for _, scores in lists])

    def left_out(self) -> dict[str, str]:
        """Return nothing: what a file leaves out is not known."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Return JSON facts for the receipt."""
        return {
            "kind": "scores",
            "adapter": "score file",
            "rows": int(self._frame["doc_id"].nunique()),
            "metric": self.metric,
            "index": None,
        }


def _read(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read candidates and the queries they were for, those that returned nothing among them."""
    findings = Findings(what="score file")
    table = fields_of(
        read_table(path, SCORES, findings), SCORES, findings, required=("query_id", "doc_id", "score"), noun="scores"
    )
    if table is None:
        raise findings.error()
    pairs = Pairs(table, findings)
    findings.stop_on_problems()
    return pairs.frame({}), list(dict.fromkeys(query for query in pairs.query_ids if query is not None))
