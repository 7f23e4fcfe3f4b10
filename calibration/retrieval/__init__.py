"""Legs of a hybrid search, their fusion, reranking, and the gate that lets it return nothing.

A design is built in this order, each step on what the one before gave:

1. legs: `vector_leg(scores)` of a pull, `search_table` or `search_texts` for words, or a run log (`read_trec`,
   `read_signals`); a `Leg` is rows (query_id, doc_id, score, rank) with the contract of its score;
2. `join_legs({"similarity": …, "lexical": …}, query_ids, depth=…)`: `Candidates`, one column per signal, NaN where a
   leg does not know a passage;
3. a fused score on the arrays of `Candidates.ranks` and `.values`: `rrf`, `weighted_sum`, `adaptive_divisor`, put
   beside the signals by `with_signal(name, values, FUSIONS[name])`;
4. `rerank(candidates, reranker, …)`: one more signal, on its own scale;
5. `gate(candidates, [Floor(…), Floor(…)])`: who passes, who is rejected, and who is not scored.
"""

from .candidates import LEXICAL, SIMILARITY, Candidates, Leg, join_legs, vector_leg
from .fuse import FUSIONS, RRF_K, adaptive_divisor, max_possible, minmax_per_query, rrf, weighted_sum
from .gate import Floor, Gated, gate
from .lexical import TextSearch, TextTable, configuration_for, search_table, search_texts
from .rerank import HttpReranker, LateInteraction, Reranker, rerank
from .runs import RunLog, read_signals, read_trec

__all__ = [
    "FUSIONS",
    "LEXICAL",
    "RRF_K",
    "SIMILARITY",
    "Candidates",
    "Floor",
    "Gated",
    "HttpReranker",
    "LateInteraction",
    "Leg",
    "Reranker",
    "RunLog",
    "TextSearch",
    "TextTable",
    "adaptive_divisor",
    "configuration_for",
    "gate",
    "join_legs",
    "max_possible",
    "minmax_per_query",
    "read_signals",
    "read_trec",
    "rerank",
    "rrf",
    "search_table",
    "search_texts",
    "vector_leg",
    "weighted_sum",
]
