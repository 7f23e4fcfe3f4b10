"""What the catalog says about the table to pull from: resolved names, types and indexes, before its rows are read."""

import difflib
import re
from dataclasses import dataclass, field

from psycopg import errors, sql

from ...contract import metric_named
from ...errors import StoreError
from ..base import IndexFact
from .connect import Connection, explained

SCORES = {
    "cosine_distance": ("<=>", "{}"),
    "cosine_similarity": ("<=>", "1 - ({})"),
    "l2": ("<->", "{}"),
    "squared_l2": ("<->", "power({}, 2)"),
    "negative_inner_product": ("<#>", "{}"),
    "inner_product": ("<#>", "-({})"),
}
"""Metric -> (pgvector's operator, the metric from the operator's value)."""

VECTOR_TYPES = ("vector", "halfvec")


@dataclass(frozen=True)
class Names:
    """What the user named; `table` may be schema-qualified."""

    table: str
    id_column: str = "id"
    vector_column: str = "embedding"
    document_column: str | None = None
    model_column: str | None = None
    where: str | None = None

    @property
    def parts(self) -> list[str]:
        """Schema (if given) and table, quotes taken off.

        Examples
        --------
        >>> Names('app."My.Docs"').parts
        ['app', 'My.Docs']
        """
        found = re.findall(r'"((?:[^"]|"")+)"|([^."]+)', self.table)
        return [quoted.replace('""', '"') or plain for quoted, plain in found]

    @property
    def columns(self) -> list[str]:
        """All columns named, in the order id, vector, document, model."""
        named = [self.id_column, self.vector_column, self.document_column, self.model_column]
        return [name for name in named if name is not None]


@dataclass(frozen=True)
class Target:
    """A table that exists, is readable, and has a vector column.

    Attributes
    ----------
    column_type : str
        "vector" or "halfvec"; `type_oid` is its number on this server.
    extension_schema : str
        Where pgvector lives; it need not be on the search path.
    unique_ids : bool
        Whether an index already guarantees ids that are neither repeated nor NULL.
    hides_rows : bool
        Whether row-level security applies to this role.
    """

    names: Names
    column_type: str
    type_oid: int
    extension_schema: str
    unique_ids: bool
    hides_rows: bool
    server_version: str
    pgvector_version: str
    indexes: list[IndexFact] = field(default_factory=list)

    @property
    def relation(self) -> sql.Composable:
        """The table, quoted."""
        return sql.Identifier(*self.names.parts)

    @property
    def id(self) -> sql.Composable:
        """The id as text."""
        return sql.SQL("{}::text").format(sql.Identifier(self.names.id_column))

    @property
    def vector(self) -> sql.Composable:
        """The vector column, quoted."""
        return sql.Identifier(self.names.vector_column)

    @property
    def document(self) -> sql.Composable:
        """The document id as text, or NULL without such a column."""
        name = self.names.document_column
        return sql.SQL("NULL::text") if name is None else sql.SQL("{}::text").format(sql.Identifier(name))

    def function(self, name: str) -> sql.Composable:
        """One of pgvector's functions or types, with its schema."""
        return sql.Identifier(self.extension_schema, name)

    def score(self, metric: str) -> sql.Composable:
        """Score of a row against one placeholder."""
        operator, template = SCORES[metric]
        value = sql.SQL("{} OPERATOR({}.{}) {}::{}").format(
            self.vector,
            sql.Identifier(self.extension_schema),
            sql.SQL(operator),
            sql.Placeholder(),
            self.function(self.column_type),
        )
        before, after = template.split("{}")
        return sql.SQL(before) + value + sql.SQL(after)

    def select(self, columns: sql.Composable, condition: sql.Composable | None = None) -> sql.Composed:
        """Select from the table; the user's filter is kept on every query, unchanged."""
        conditions = [] if condition is None else [condition]
        if self.names.where is not None:
            # On a line of its own, so that a comment at the filter's end does not swallow the parenthesis.
            conditions.append(sql.SQL("(" + self.names.where.replace("%", "%%") + "\n)"))
        query = sql.SQL("SELECT {} FROM {}").format(columns, self.relation)
        return query + sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions) if conditions else query


def resolve(connection: Connection, names: Names, metric: str) -> Target:
    """Find the table and its columns.

    Raises
    ------
    StoreError
        pgvector, the table or a column is missing or may not be read, or the column holds no vectors.
    """
    check_metric(metric)
    schema, pgvector = _extension(connection)
    oid = _table(connection, names)
    types = _columns(connection, oid, names)
    number, _, type_oid = types[names.vector_column]
    column_type = types[names.vector_column][1]
    if column_type not in VECTOR_TYPES:
        vectors = [name for name, found in types.items() if found[1] in VECTOR_TYPES]
        hint = f" Columns with vectors: {', '.join(vectors)}." if vectors else ""
        raise StoreError(
            f"column {names.vector_column} of {names.table} is of type {column_type}; expected vector or halfvec.{hint}"
        )
    row = connection.execute(
        "SELECT current_setting('server_version'), row_security_active(%(oid)s::oid), EXISTS (SELECT FROM pg_index i"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = %(id)s WHERE i.indrelid = %(oid)s AND"
        " i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = %(id)s"
        " AND a.attnotnull)",
        {"oid": oid, "id": types[names.id_column][0]},
    ).fetchone()
    version, hides, unique = row if row is not None else ("unknown", False, False)
    return Target(
        names,
        column_type,
        type_oid,
        schema,
        bool(unique),
        bool(hides),
        str(version).split(" ")[0],
        pgvector,
        _indexes(connection, oid, number),
    )


def check_metric(metric: str) -> None:
    """Refuse a metric that no operator of pgvector gives."""
    if metric_named(metric).name not in SCORES:
        raise StoreError(f"pgvector gives no {metric!r}; expected one of {', '.join(SCORES)}.")


def _extension(connection: Connection) -> tuple[str, str]:
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        name = connection.execute("SELECT current_database()").fetchone()
        raise StoreError(
            f"the database {name[0] if name else ''} has no pgvector. Its owner can add it: CREATE EXTENSION vector"
        )
    return str(row[0]), str(row[1])


def _table(connection: Connection, names: Names) -> int:
    shown = sql.Identifier(*names.parts).as_string(connection) if names.parts else ""
    with explained(f"read {names.table}"):
        try:
            row = connection.execute("SELECT to_regclass(%s)::oid", (shown,)).fetchone()
        except errors.InsufficientPrivilege:
            raise StoreError(
                f"no right to look into the schema of {names.table}. {_grant(connection, shown)}"
            ) from None
    if row is not None and row[0] is not None:
        return int(row[0])
    rows = connection.execute(
        "SELECT c.relname, CASE WHEN pg_table_is_visible(c.oid) THEN c.relname"
        " ELSE concat(n.nspname, '.', c.relname) END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND n.nspname NOT LIKE 'pg\\_toast%'"
    ).fetchall()
    wanted = names.parts[-1] if names.parts else ""
    raise StoreError(f"there is no table {names.table}{_did_you_mean(wanted, dict(rows))}")


def _columns(connection: Connection, oid: int, names: Names) -> dict[str, tuple[int, str, int]]:
    rows = connection.execute(
        "SELECT a.attname, a.attnum, t.typname, t.oid, has_column_privilege(a.attrelid, a.attnum, 'SELECT')"
        " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        (oid,),
    ).fetchall()
    known = {name: name for name, *_ in rows}
    missing = [
        f"{names.table} has no column {name}{_did_you_mean(name, known)}" for name in names.columns if name not in known
    ]
    if missing:
        raise StoreError("; ".join(missing))
    hidden = [name for name, *_, readable in rows if name in names.columns and not readable]
    if hidden:
        shown = sql.Identifier(*names.parts).as_string(connection)
        raise StoreError(f"no right to read {', '.join(hidden)} of {names.table}. {_grant(connection, shown)}")
    return {name: (number, kind, type_oid) for name, number, kind, type_oid, _ in rows}


def _indexes(connection: Connection, oid: int, column: int) -> list[IndexFact]:
    rows = connection.execute(
        "SELECT c.relname, am.amname, o.opcname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " JOIN pg_am am ON am.oid = c.relam JOIN pg_opclass o ON o.oid = i.indclass[0]"
        " WHERE i.indrelid = %s AND i.indkey[0] = %s ORDER BY c.relname",
        (oid, column),
    ).fetchall()
    return [IndexFact(*row) for row in rows]


def _grant(connection: Connection, table: str) -> str:
    role = sql.Identifier(connection.info.user).as_string(connection)
    return f"Its owner can allow it: GRANT SELECT ON {table} TO {role} (and USAGE on its schema)."


def _did_you_mean(name: str, known: dict[str, str]) -> str:
    lowered = {key.lower(): value for key, value in known.items()}
    close = difflib.get_close_matches(name.lower(), lowered, n=3)
    if close:
        return f"; did you mean {' or '.join(lowered[key] for key in close)}?"
    some = sorted(known)[:10]
    return f"; there are: {', '.join(some)}." if some else "; there are none at all."
