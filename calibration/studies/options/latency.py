"""What an option adds to the time of a query, measured here; comparing with a floor adds nothing visible."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...resources import cache_dir
from ...retrieval import SIMILARITY, TextSearch, TextTable, search_table, search_texts
from ..hybrid.candidates import places
from ..hybrid.source import texts_of
from ..inputs import passage_texts
from .bench import Bench
from .designs import CONTEXT, GLOBAL, HYBRID, RERANKED, TOP_K
from .reranked import open_reranker, query_texts

QUERIES, BATCHES = 5, 9
"""Queries that the reranker is timed on, and searches for words."""
TOGETHER = 20
"""Queries that one search for words answers when the time of one is too short to be told from that of none."""


@dataclass(frozen=True)
class Latency:
    """Time that an option adds to a query.

    Attributes
    ----------
    median : float
        Milliseconds per query.
    n : int
        Times that were measured; 0 where nothing is added that could be.
    what : str
        What was timed, and on what.
    """

    median: float
    n: int
    what: str


def latencies(bench: Bench, *, reranks: bool) -> dict[str, Latency]:
    """Time the reranker and the lexical leg, each on a few queries spread over the labelled ones."""
    none = Latency(0.0, 0, "one comparison a passage")
    found = {GLOBAL: none, CONTEXT: none, TOP_K: none}
    texts = query_texts(bench.source)
    asked = [query for query in bench.source.labels.queries["query_id"] if isinstance(texts[query], str)]
    some = [asked[i] for i in np.linspace(0, len(asked) - 1, min(QUERIES, len(asked))).round().astype(int)]
    if reranks and some:
        found[RERANKED] = _rerank(bench, some, texts)
    if some:
        found[HYBRID] = _words(bench, [texts[query] for query in asked])
    return found


def _rerank(bench: Bench, some: list[str], texts: Mapping[str, str]) -> Latency:
    reader, passages = open_reranker(bench.params), texts_of(bench.source.labels)
    rows = bench.candidates.rows
    read = places(bench.candidates, SIMILARITY) <= bench.params.rerank_depth
    lists = [[passages[doc] for doc in rows.loc[read & (rows["query_id"] == query), "doc_id"]] for query in some]
    reader.score([texts[some[0]]], lists[0][:1])  # the network is loaded once, not for every query
    times = [
        _timed(partial(reader.score, [texts[query]] * len(found), found))
        for query, found in zip(some, lists, strict=True)
    ]
    what = f"{bench.params.rerank_depth} passages read for a query, none of them kept from before"
    return Latency(1000 * float(np.median(times)), len(times), what)


def _words(bench: Bench, asked: list[str]) -> Latency:
    """Time the search for words: of many queries in one search, less the time of one, so that what is done once is not.

    Texts that lie in no table are turned into words with each search, which a table of one's own would have kept.
    """
    params = bench.params
    many = min(TOGETHER, len(asked))
    with ExitStack() as stack:
        search = _searcher(bench, stack)
        search(asked[:1])
        times = []
        for start in np.linspace(0, len(asked) - many, BATCHES).round().astype(int):
            part = asked[start : start + many]
            if many == 1:
                times.append(_timed(partial(search, part)))
                continue
            once = _timed(partial(search, part[:1]))
            times.append(max(_timed(partial(search, part)) - once, 0.0) / (many - 1))
    where = "the user's table" if params.text_column is not None else "texts sent to the embedded server"
    return Latency(
        1000 * float(np.median(times)), len(times), f"a search for words in {where}, to {params.candidate_depth}"
    )


def _searcher(bench: Bench, stack: ExitStack) -> Callable[[list[str]], object]:
    params, about = bench.params, bench.source.facts["text_search"]
    how = TextSearch(about["configuration"], about["rank"])
    depth = params.candidate_depth
    if params.table is not None and params.text_column is not None:
        table = TextTable(params.table, params.text_column, params.id_column, params.document_column, params.where)
        return lambda texts: search_table(
            table, [str(i) for i in range(len(texts))], texts, how, dsn=params.dsn, service=params.service, depth=depth,
            statement_timeout=float(params.statement_timeout),
        )  # fmt: skip
    from ...sources.postgres.server import embedded_server

    conninfo = stack.enter_context(embedded_server(cache_dir()))
    corpus = bench.source.labels.corpus
    ids = [] if corpus is None else corpus["doc_id"].tolist()
    passages = passage_texts(bench.source.labels)
    return lambda texts: search_texts(
        conninfo, ids, passages, [str(i) for i in range(len(texts))], texts, how, depth=depth
    )


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
