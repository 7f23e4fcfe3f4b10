"""The lexical leg of a study: searched once, and kept by what was searched, so that a notebook finds it again."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import ParameterError
from ...resources import cache_dir
from ...retrieval import Leg, TextSearch, TextTable, search_table, search_texts
from ..calibrate import SESSION, Pulled
from ..inputs import Inputs, passage_texts, query_texts
from ..kept import keep
from ..progress import Reporter
from ..stage import ONCE, parts_folder, stage_key
from .params import HybridParams

FEWEST = 100
"""Depth to which legs are searched at least, so that recall can be shown beyond the depth of the candidates."""
FORMAT = 1
"""Counts up when the same words of the same texts would be searched otherwise."""
COLUMNS = {"query_id": "str", "doc_id": "str", "score": "float64", "rank": "int64"}


def search_words(params: HybridParams, pulled: Pulled, how: TextSearch, report: Reporter) -> Leg:
    """Search the words of a pull's queries, or find the search of the same.

    Words of a source that may change are found again within one invocation only, as its pull is.

    Raises
    ------
    CalibrationError
        See `search_table` and `search_texts`; or there is no text to search.
    """
    depth = max(params.candidate_depth, FEWEST)
    path = _place(params, pulled, how, depth)
    kept = None if path is None else _read(path)
    if kept is not None:
        return Leg(kept, how.contract)
    n = len(pulled.scores.query_ids)
    with report.bar(f"search words ({how.configuration})", n, "queries") as step:
        found = _search(params, pulled, how, depth)
        step(n)
    if path is not None:
        keep(path, lambda file: found.rows.to_parquet(file, index=False))
    return found


def _place(params: HybridParams, pulled: Pulled, how: TextSearch, depth: int) -> Path | None:
    """Name the file of a search; None where what is searched may change before it is asked for again."""
    changing, session = pulled.key.startswith(ONCE), os.environ.get(SESSION)
    if (changing or params.table is not None) and not (changing and session):
        return None
    source: dict[str, Any] = pulled.facts.get("source") or {}
    about = {
        "format": FORMAT,
        "pull": pulled.key,
        "how": [how.configuration, how.rank, how.normalisation],
        "depth": depth,
        "column": params.text_column,
        "server": source.get("server_version"),
    }
    return parts_folder(stage_key({"words": about}, once=session if changing else None)) / "words.parquet"


def _read(path: Path) -> pd.DataFrame | None:
    try:
        rows = pd.read_parquet(path)
        os.utime(path.parent)
    except (OSError, ValueError):  # pyarrow's errors are ValueErrors
        return None
    return rows if {name: str(kind) for name, kind in rows.dtypes.items()} == COLUMNS else None


def _search(params: HybridParams, pulled: Pulled, how: TextSearch, depth: int) -> Leg:
    """Search the user's table where it holds the text, else the corpus, sent to the embedded server."""
    query_ids = pulled.scores.query_ids
    queries = query_texts(Inputs(pulled.labels, pulled.probes))
    timeout = float(params.statement_timeout)
    document = pulled.scores.level == "document"
    if params.table is not None and params.text_column is not None:
        table = TextTable(
            params.table,
            params.text_column,
            params.id_column,
            params.document_column if document else None,
            params.where,
        )
        return search_table(
            table, query_ids, queries, how, dsn=params.dsn, service=params.service, depth=depth,
            statement_timeout=timeout,
        )  # fmt: skip
    corpus = pulled.labels.corpus
    if corpus is None:
        raise ParameterError(
            "there is no text to search for words: name the text_column of your table (a text or a tsvector), or give "
            "a corpus file."
        )
    from ...sources.postgres.server import embedded_server

    ids = corpus["document_id"].fillna(corpus["doc_id"]) if document else corpus["doc_id"]
    with ExitStack() as stack:
        conninfo = stack.enter_context(embedded_server(cache_dir()))
        return search_texts(
            conninfo, ids.tolist(), passage_texts(pulled.labels), query_ids, queries, how, depth=depth,
            statement_timeout=timeout,
        )  # fmt: skip
