"""What a run leaves for machines: recommendation.json and its schema, queries.jsonl, scores.parquet."""

from .check_document import check_document, check_junit
from .check_words import check_markdown, check_text
from .document import queries_records, recommendation_document, scores_frame
from .files import dumps, save, save_comparison, write_atomic, write_text
from .hybrid import hybrid_document, save_hybrid
from .migration import migration_document, save_migration
from .options import options_document, save_options
from .runs_compared import save_runs_compared
from .schema import comparison_schema, hybrid_schema, migration_schema, options_schema, recommendation_schema

__all__ = [
    "check_document",
    "check_junit",
    "check_markdown",
    "check_text",
    "comparison_schema",
    "dumps",
    "hybrid_document",
    "hybrid_schema",
    "migration_document",
    "migration_schema",
    "options_document",
    "options_schema",
    "queries_records",
    "recommendation_document",
    "recommendation_schema",
    "save",
    "save_comparison",
    "save_hybrid",
    "save_migration",
    "save_options",
    "save_runs_compared",
    "scores_frame",
    "write_atomic",
    "write_text",
]
