"""Similarities of one run: mergeable summaries of a pull, the query table and the bands."""

from .bands import Band, Bands, find_bands
from .queries import judged_top, query_table
from .scored import check_direction, document_labels, scores_from_candidates
from .similarity import BlockScorer
from .summary import Histogram, Summaries
from .table import Sample, Scores, with_ranks

__all__ = [
    "Band",
    "Bands",
    "BlockScorer",
    "Histogram",
    "Sample",
    "Scores",
    "Summaries",
    "check_direction",
    "document_labels",
    "find_bands",
    "judged_top",
    "query_table",
    "scores_from_candidates",
    "with_ranks",
]
