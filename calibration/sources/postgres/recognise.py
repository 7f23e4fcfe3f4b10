"""Which tables of a database hold vectors, and whose: LangChain's, LlamaIndex's, Haystack's, Supabase's, or plain ones.

Known by their columns: LangChain (`langchain_pg_embedding`: collection_id, cmetadata, document, embedding;
its newer store: langchain_id, content, langchain_metadata, embedding), LlamaIndex (`data_<name>`: text, metadata_,
node_id, embedding), Haystack (content, blob_data, meta, embedding), Supabase's guides (id, content, metadata,
embedding, searched by a function such as match_documents).
"""

from dataclasses import replace
from typing import Any

import psycopg
from psycopg import sql

from .connect import Connection, explained, snapshot
from .matchfunctions import MatchFunction, match_functions
from .vectortable import Collection, Found, VectorColumn, VectorTable

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
IDS = {"LangChain": ("langchain_id", "id", "uuid"), "LlamaIndex": ("node_id",)}
DOCUMENTS = ("document_id", "doc_id", "source_id")
MODELS = ("model", "embedding_model", "model_name", "model_id")
SHOWN_MODELS = 20
"""As many values of a model column are read; more are no names of models."""


def recognise(dsn: str | None, service: str | None = None, *, statement_timeout: float = 60.0) -> Found:
    """List the tables with vectors from one read-only snapshot.

    A table whose rows cannot be read, such as a view that fails, is listed with the reason.

    Raises
    ------
    StoreError
        No connection, or the catalog cannot be read.
    """
    with snapshot(dsn, service, statement_timeout=statement_timeout) as connection, explained("look for vectors"):
        functions = match_functions(connection)
        relations = _relations(connection)
        tables = [_table(connection, row, functions) for row in relations if row[-1]]
        about = connection.execute(
            "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector'), current_database()::text,"
            " current_user::text"
        ).fetchone()
    has_pgvector, database, role = about if about is not None else (False, "", "")
    return Found(
        sorted(tables, key=lambda table: (-table.rows, table.name)),
        sorted(_written(schema, name, visible) for _, schema, name, visible, *_, readable in relations if not readable),
        bool(has_pgvector),
        str(database),
        str(role),
    )


def _relations(connection: Connection) -> list[tuple[Any, ...]]:
    """Oid, schema, name, visible, estimate, primary key, readable columns, (column, type, width) of vectors, readable.

    The last three are of what this role may read; a right on some columns is enough where the vectors are among them.
    """
    return connection.execute(
        "SELECT c.oid, n.nspname, c.relname, pg_table_is_visible(c.oid), c.reltuples::bigint,"
        " (SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
        "  WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1),"
        " array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE may.read),"
        " array_agg(ARRAY[a.attname::text, t.typname::text, a.atttypmod::text] ORDER BY a.attnum)"
        "  FILTER (WHERE may.read AND t.typname IN ('vector', 'halfvec')),"
        " coalesce(bool_or(may.read AND t.typname IN ('vector', 'halfvec')), false)"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " JOIN pg_type t ON t.oid = a.atttypid"
        " CROSS JOIN LATERAL (SELECT has_schema_privilege(n.oid, 'USAGE')"
        "  AND has_column_privilege(c.oid, a.attnum, 'SELECT') AS read) may"
        " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND NOT c.relispartition"
        " GROUP BY c.oid, n.nspname, c.relname HAVING bool_or(t.typname IN ('vector', 'halfvec'))"
    ).fetchall()


def _table(connection: Connection, row: tuple[Any, ...], functions: list[MatchFunction]) -> VectorTable:
    _, schema, name, visible, estimate, primary, columns, vectors, _ = row
    searched_by = tuple(one for one in functions if one.searches(name))
    kind = _kind(set(columns), searched_by)
    table = VectorTable(
        name=_written(schema, name, visible),
        schema=schema,
        relation=name,
        kind=kind,
        rows=int(estimate),
        counted=False,
        columns=tuple(columns),
        vectors=tuple(
            VectorColumn(column, stored, int(width) if int(width) > 0 else None) for column, stored, width in vectors
        ),
        id_column=_id(kind, columns, primary if primary in columns else None),
        hints=_hints(columns),
        functions=searched_by,
    )
    # one view that fails, or one table too slow to count, must not hide the others
    try:
        with connection.transaction():
            return _with_rows(connection, table)
    except psycopg.Error as error:
        return replace(table, trouble=(str(error).strip() or type(error).__name__).splitlines()[0])


def _with_rows(connection: Connection, table: VectorTable) -> VectorTable:
    """Add what only its rows say."""
    relation = sql.Identifier(table.schema, table.relation)
    counted = table.rows < COUNTED
    model = table.hints.get("model_column")
    has_collections = "collection_id" in table.columns
    return replace(
        table,
        rows=_count(connection, relation) if counted else table.rows,
        counted=counted,
        vectors=tuple(
            one if one.dimensions is not None else replace(one, dimensions=_width(connection, relation, one.name))
            for one in table.vectors
        ),
        models=_models(connection, relation, model) if counted and model is not None else (),
        collections=_collections(connection, table, relation) if table.kind == "LangChain" and has_collections else (),
    )


def _models(connection: Connection, relation: sql.Composable, column: str) -> tuple[str, ...]:
    """Read which models the column names; none where there are too many for that."""
    rows = connection.execute(
        sql.SQL("SELECT DISTINCT {}::text AS name FROM {} WHERE {} IS NOT NULL ORDER BY name LIMIT {}").format(
            sql.Identifier(column), relation, sql.Identifier(column), sql.Literal(SHOWN_MODELS + 1)
        )
    ).fetchall()
    return tuple(str(row[0]) for row in rows) if len(rows) <= SHOWN_MODELS else ()


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


def _width(connection: Connection, relation: sql.Composable, column: str, collection: str | None = None) -> int | None:
    """Read the width off the text of one vector, so that no function off the search path is needed."""
    vector = sql.Identifier(column)
    kept = sql.SQL("") if collection is None else sql.SQL(" AND collection_id = {}").format(sql.Literal(collection))
    row = connection.execute(
        sql.SQL("SELECT {}::text FROM {} WHERE {} IS NOT NULL{} LIMIT 1").format(vector, relation, vector, kept)
    ).fetchone()
    return None if row is None else str(row[0]).count(",") + 1


def _collections(connection: Connection, table: VectorTable, relation: sql.Composable) -> tuple[Collection, ...]:
    """Name LangChain's collections, where their table can be read."""
    names = sql.Identifier(table.schema, "langchain_pg_collection")
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
            "SELECT collection_id::text, {}, count(*) FROM {} GROUP BY collection_id ORDER BY count(*) DESC, 1"
        ).format(known, relation)
    ).fetchall()
    column = table.vectors[0]
    return tuple(
        # a column of open width, as LangChain makes it by default, holds another width in each collection
        Collection(
            str(key),
            str(name or key),
            int(count),
            column.dimensions if column.dimensions is not None else _width(connection, relation, column.name, str(key)),
        )
        for key, name, count in rows
        if key is not None
    )
