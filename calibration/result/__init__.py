"""What a run leaves for machines: recommendation.json and its schema, queries.jsonl, scores.parquet."""

from .document import queries_records, recommendation_document, scores_frame
from .files import dumps, save, save_comparison, write_atomic, write_text
from .schema import recommendation_schema

__all__ = [
    "dumps",
    "queries_records",
    "recommendation_document",
    "recommendation_schema",
    "save",
    "save_comparison",
    "scores_frame",
    "write_atomic",
    "write_text",
]
