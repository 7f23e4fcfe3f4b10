"""Which tables of a database hold vectors, and whose: LangChain's, LlamaIndex's, Haystack's, Supabase's, or plain ones.

Known by their columns: LangChain (`langchain_pg_embedding`: collection_id, cmetadata, document, embedding;
its newer store: langchain_id, content, langchain_metadata, embedding), LlamaIndex (`data_<name>`: text, metadata_,
node_id, embedding), Haystack (content, blob_data, meta, embedding), Supabase's guides (id, content, metadata,
embedding, searched by a function such as match_documents).
"""

from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from .connect import Connection, explained, snapshot
from .matchfunctions import MatchFunction, match_functions

COUNTED = 1_000_000
"""Above this many rows by the server's own estimate, they are not counted."""
KINDS: dict[str, tuple[frozenset[str], ...]] = {
    "LangChain": (
        frozenset({"collection_id", "cmetadata", "document", "embedding"}),
        frozenset({"langchain_id", "langchain_metadata", "embedding"}),
    ),
    "LlamaIndex": (frozenset({"text", "metadata_", "node_id", "embedding"}),),
    "Haystack": (frozenset({"content", "blob_data", "meta", "embedding"}),),
    "Supabase": (frozenset({"id", "content", "metadata", "embedding"}),),
}
"""Whose table -> the columns it has; tried in this order."""
IDS = {"LangChain": ("id", "uuid", "langchain_id"), "LlamaIndex": ("node_id",)}
DOCUMENTS = ("document_id", "doc_id", "source_id")
MODELS = ("model", "embedding_model", "model_name", "model_id")


@dataclass(frozen=True)
class Collection:
    """One of LangChain's collections: rows of one table under one name."""

    id: str
    name: str
    rows: int


@dataclass(frozen=True)
class VectorTable:
    """One table or view with a column of vectors.

    Attributes
    ----------
    name : str
        As the `table` parameter takes it: with its schema only off the search path, quoted where necessary.
    kind : str
        "LangChain", "LlamaIndex", "Haystack", "Supabase" or "plain".
    rows : int
        Counted, or the server's estimate where `counted` is False.
    dimensions : int or None
        Of the column, or of its first vector where the column leaves it open.
    id_column : str or None
        None where nothing says which it is.
    hints : dict
        Other parameters whose columns are there: document_column, model_column.
    """

    name: str
    kind: str
    rows: int
    counted: bool
    vector_columns: tuple[str, ...]
    column_type: str
    dimensions: int | None
    id_column: str | None
    hints: dict[str, str] = field(default_factory=dict)
    collections: tuple[Collection, ...] = ()
    functions: tuple[MatchFunction, ...] = ()

    @property
    def described(self) -> str:
        """One line: name, whose, rows and dimensions."""
        rows = f"{self.rows:,} rows" if self.counted else f"about {self.rows:,} rows"
        width = "unknown dimensions" if self.dimensions is None else f"{self.dimensions} dimensions"
        columns = ", ".join(self.vector_columns)
        return f"{self.name} ({self.kind}): {rows}, {columns} {self.column_type} of {width}"


def recognise(dsn: str | None, service: str | None = None, *, statement_timeout: float = 60.0) -> list[VectorTable]:
    """List the readable tables with vectors, the largest first, from one read-only snapshot.

    Raises
    ------
    StoreError
        No connection, or a statement took longer than `statement_timeout` seconds.
    """
    with snapshot(dsn, service, statement_timeout=statement_timeout) as connection, explained("look for vectors"):
        functions = match_functions(connection)
        tables = [_table(connection, row, functions) for row in _relations(connection)]
    return sorted(tables, key=lambda table: (-table.rows, table.name))


def _relations(connection: Connection) -> list[tuple[Any, ...]]:
    """Oid, schema, name, visible, estimate, primary key, columns, and (column, type, width) of the vectors."""
    return connection.execute(
        "SELECT c.oid, n.nspname, c.relname, pg_table_is_visible(c.oid), c.reltuples::bigint,"
        " (SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
        "  WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1),"
        " array_agg(a.attname::text ORDER BY a.attnum),"
        " array_agg(ARRAY[a.attname::text, t.typname::text, a.atttypmod::text] ORDER BY a.attnum)"
        "  FILTER (WHERE t.typname IN ('vector', 'halfvec'))"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND NOT c.relispartition AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
        " GROUP BY c.oid, n.nspname, c.relname HAVING bool_or(t.typname IN ('vector', 'halfvec'))"
    ).fetchall()


def _table(connection: Connection, row: tuple[Any, ...], functions: list[MatchFunction]) -> VectorTable:
    _, schema, name, visible, estimate, primary, columns, vectors = row
    relation = sql.Identifier(name) if visible else sql.Identifier(schema, name)
    searched_by = tuple(one for one in functions if one.searches(name))
    kind = _kind(set(columns), searched_by)
    column, column_type, modifier = vectors[0]
    counted = estimate < COUNTED
    return VectorTable(
        name=_written(schema, name, visible),
        kind=kind,
        rows=_count(connection, relation) if counted else int(estimate),
        counted=counted,
        vector_columns=tuple(vector[0] for vector in vectors),
        column_type=column_type,
        dimensions=int(modifier) if int(modifier) > 0 else _width(connection, relation, column),
        id_column=_id(kind, columns, primary),
        hints=_hints(columns),
        collections=_collections(connection, schema, relation) if "collection_id" in columns else (),
        functions=searched_by,
    )


def _kind(columns: set[str], functions: tuple[MatchFunction, ...]) -> str:
    for kind, known in KINDS.items():
        if any(names <= columns for names in known):
            return kind
    return "Supabase" if functions and "content" in columns else "plain"


def _id(kind: str, columns: list[str], primary: str | None) -> str | None:
    for name in IDS.get(kind, ()):
        if name in columns:
            return name
    return primary or ("id" if "id" in columns else None)


def _hints(columns: list[str]) -> dict[str, str]:
    found = {}
    for parameter, names in (("document_column", DOCUMENTS), ("model_column", MODELS)):
        name = next((name for name in names if name in columns), None)
        if name is not None:
            found[parameter] = name
    return found


def _written(schema: str, name: str, visible: bool) -> str:
    parts = [name] if visible else [schema, name]
    plain = all(part.isidentifier() and part.isascii() and part == part.lower() for part in parts)
    return ".".join(parts if plain else ['"' + part.replace('"', '""') + '"' for part in parts])


def _count(connection: Connection, relation: sql.Composable) -> int:
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(relation)).fetchone()
    return 0 if row is None else int(row[0])


def _width(connection: Connection, relation: sql.Composable, column: str) -> int | None:
    """Read the width off the text of one vector, so that no function off the search path is needed."""
    vector = sql.Identifier(column)
    row = connection.execute(
        sql.SQL("SELECT {}::text FROM {} WHERE {} IS NOT NULL LIMIT 1").format(vector, relation, vector)
    ).fetchone()
    return None if row is None else str(row[0]).count(",") + 1


def _collections(connection: Connection, schema: str, relation: sql.Composable) -> tuple[Collection, ...]:
    """Name LangChain's collections, where their table can be read."""
    names = sql.Identifier(schema, "langchain_pg_collection")
    readable = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL AND has_table_privilege(to_regclass(%s), 'SELECT')",
        (names.as_string(connection),) * 2,
    ).fetchone()
    known = (
        sql.SQL("(SELECT name FROM {} WHERE uuid = collection_id)").format(names)
        if readable is not None and readable[0]
        else sql.SQL("NULL")
    )
    rows = connection.execute(
        sql.SQL(
            "SELECT collection_id::text, {}, count(*) FROM {} GROUP BY collection_id ORDER BY count(*) DESC"
        ).format(known, relation)
    ).fetchall()
    return tuple(Collection(str(key), str(name or key), int(count)) for key, name, count in rows if key is not None)
