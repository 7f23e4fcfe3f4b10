"""Connections to a user's database that cannot write, and whose errors never show a password."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ...errors import StoreError

Connection = psycopg.Connection[tuple[Any, ...]]
APPLICATION = "retrieval-calibration"
HIDDEN = "***"
_SECRETS = ("password", "sslpassword", "passwd")
# Greedy to the last "@": a password may hold an "@" or a "/" that should have been escaped.
_IN_ADDRESS = re.compile(r"(\w[\w+.-]*://[^:/@?#]*:)(.*)(@)")
_AS_PARAMETER = re.compile(r"(?i)([?&]\w*passw(?:or)?d=)([^\s&]*)")
_AS_KEYWORD = re.compile(r"(?i)(?<![?&\w])(\w*passw(?:or)?d\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)")


def redact_dsn(dsn: str) -> str:
    """Replace every password in a connection string, readable or not, by ***.

    Examples
    --------
    >>> redact_dsn("postgresql://u:S3cretPw@h/db")
    'postgresql://u:***@h/db'
    >>> redact_dsn("host=h password='a b' dbname=db")
    'host=h password=*** dbname=db'
    >>> redact_dsn("postgresql://h/db?password=a&sslmode=require"), redact_dsn("password=&a&b dbname=db")
    ('postgresql://h/db?password=***&sslmode=require', 'password=*** dbname=db')
    """
    shown = _IN_ADDRESS.sub(rf"\1{HIDDEN}\3", dsn)
    shown = _AS_PARAMETER.sub(rf"\1{HIDDEN}", shown)
    return _AS_KEYWORD.sub(rf"\1{HIDDEN}", shown)


def split_password(dsn: str) -> tuple[str, str | None]:
    """Split a connection string into (the same without its password, the password or None).

    Raises
    ------
    StoreError
        The string cannot be read; it is not repeated in the message.

    Examples
    --------
    >>> split_password("postgresql://u:S3cretPw@h:5433/db")
    ('user=u dbname=db host=h port=5433', 'S3cretPw')
    >>> split_password("postgresql://u@h/db")
    ('postgresql://u@h/db', None)
    """
    parts = _parsed(dsn)
    password = parts.pop("password", None)
    return (dsn, None) if password is None else (make_conninfo("", **parts), str(password))


def connect(
    dsn: str | None = None, service: str | None = None, *, statement_timeout: float = 600.0, read_only: bool = True
) -> Connection:
    """Connect in autocommit mode; read-only unless the server is our own.

    Parameters
    ----------
    dsn : str or None
        A URI or key=value pairs; what it leaves out comes from the PG* variables and ~/.pgpass as with psql.
    service : str or None
        A section of the pg_service.conf file.
    statement_timeout : float
        Seconds after which the server ends a statement.

    Raises
    ------
    StoreError
        No connection, without any password in the message.
    """
    parts = _parsed(dsn) if dsn is not None else {}
    if service is not None:
        parts["service"] = service
    parts.setdefault("application_name", APPLICATION)
    parts.setdefault("connect_timeout", 10)
    parts["client_encoding"] = "utf8"  # PGCLIENTENCODING is for terminals; JSON and our statements are UTF-8
    try:
        connection: Connection = psycopg.connect(make_conninfo("", **parts), autocommit=True)
    except psycopg.Error as error:
        where = f"service {service}" if dsn is None else redact_dsn(dsn)
        raise StoreError(f"cannot connect to {where}: {_scrubbed(error, parts)}") from None
    try:
        # Set by statement, not by a start-up option: poolers refuse those.
        _set(connection, "statement_timeout", f"{round(statement_timeout * 1000)}ms")
        if read_only:
            _set(connection, "default_transaction_read_only", "on")
    except BaseException:
        connection.close()
        raise
    return connection


def set_local(connection: Connection, settings: dict[str, str]) -> dict[str, str]:
    """Set values for the open transaction and read them back.

    Returns
    -------
    dict
        The values in force, by name.

    Raises
    ------
    StoreError
        A value is not in force afterwards, as it happens outside a transaction.
    """
    found = {}
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        found[name] = "" if row is None else str(row[0])
    wrong = [f"{name} is {found[name]}, not {value}" for name, value in settings.items() if found[name] != value]
    if wrong:
        raise StoreError(
            f"settings not in force: {', '.join(wrong)}. They hold only inside one transaction on one connection; "
            "connect to the server itself or to a pooler in session or transaction mode."
        )
    return found


@contextmanager
def snapshot(
    dsn: str | None, service: str | None, *, statement_timeout: float = 600.0, shared: str | None = None
) -> Iterator[Connection]:
    """Yield a connection inside one repeatable-read, read-only transaction; it is rolled back and closed at the end.

    Parameters
    ----------
    shared : str, optional
        Name of an exported snapshot to see the database by; it lasts as long as the transaction that exported it.
    """
    connection = connect(dsn, service, statement_timeout=statement_timeout)
    try:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with connection.transaction(force_rollback=True):
            if shared is not None:
                with explained("use the shared snapshot"):
                    connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(shared)))
            yield connection
    finally:
        connection.close()


@contextmanager
def explained(action: str) -> Iterator[None]:
    """Turn a database error into a StoreError that says what was being done and what to do."""
    try:
        yield
    except psycopg.Error as error:
        lines = (str(error).strip() or type(error).__name__).splitlines()
        raise StoreError(f"cannot {action}: {lines[0]}{_fix(error)}") from None


def _fix(error: psycopg.Error) -> str:
    if isinstance(error, errors.InsufficientPrivilege):
        return ". Grant SELECT (and USAGE on the schema) to this role."
    if isinstance(error, errors.QueryCanceled):
        return ". Raise statement_timeout, or run when the server is idle."
    if isinstance(error, errors.UndefinedColumn | errors.SyntaxError | errors.UndefinedFunction):
        return ". Check the filter and the column names."
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ". A pull never writes: the filter calls something that does."
    return "."


def _set(connection: Connection, name: str, value: str) -> None:
    with explained(f"set {name}"):
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))


def _parsed(dsn: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.Error:
        # libpq's own message repeats parts of the string, the password among them.
        raise StoreError(
            "the connection string cannot be read. Expected postgresql://user@host:port/database or "
            "host=… dbname=… pairs; characters such as @ / : in a password must be percent-encoded in a URI."
        ) from None


def _scrubbed(error: psycopg.Error, parts: dict[str, Any]) -> str:
    text = redact_dsn(" ".join(str(error).split()))
    for name in _SECRETS:
        secret = parts.get(name)
        if secret:
            text = text.replace(str(secret), HIDDEN)
    return text
