"""Postgres with pgvector: an embedded server for the sample, and exact pulls from any server."""

from .connect import connect, redact_dsn, split_password
from .load import LoadedTable, drop_tables, list_tables, load_vectors, table_name
from .pull import PostgresSource

__all__ = [
    "LoadedTable",
    "PostgresSource",
    "connect",
    "drop_tables",
    "list_tables",
    "load_vectors",
    "redact_dsn",
    "split_password",
    "table_name",
]
