"""The SQLite file behind the vector cache: one transaction a batch, a checksum a vector."""

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import StoreError
from .identity import ModelIdentity
from .model import Vectors

SCHEMA = """
CREATE TABLE IF NOT EXISTS models (digest TEXT PRIMARY KEY, identity TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    shelf TEXT NOT NULL, text_sha256 BLOB NOT NULL, vector BLOB NOT NULL, truncated INTEGER NOT NULL,
    checksum INTEGER NOT NULL, UNIQUE (shelf, text_sha256)
);
"""
READ = "SELECT text_sha256, vector, truncated, checksum FROM vectors WHERE shelf = ? AND text_sha256 IN ({})"
WRITE = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)"
ASK_AT_ONCE = 1000
PAGE_BYTES = 16384  # a vector of 1536 dimensions fits, so that reading one is reading one page
WAIT_SECONDS = 60.0


class Stored(NamedTuple):
    """A vector found; `vector` is None when its bytes are not those that were written."""

    key: bytes
    vector: Vectors | None
    truncated: bool


class Store:
    """An open file of vectors. A shelf is one model in one role; a key is the sha256 of a text."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def digest_of(self, identity: ModelIdentity) -> str:
        """Find the digest under which this model's vectors are kept: its own, or that of a model it matches."""
        known = self._connection.execute("SELECT digest, identity FROM models").fetchall()
        if any(digest == identity.digest for digest, _ in known):
            return identity.digest
        for digest, stored in known:
            kept = _identity(stored)
            if kept is not None and kept.matches(identity):
                return str(digest)
        with self._connection:
            row = (identity.digest, json.dumps(identity.to_dict()))
            self._connection.execute("INSERT OR IGNORE INTO models VALUES (?, ?)", row)
        return identity.digest

    def read(self, shelf: str, keys: Sequence[bytes], dimensions: int) -> Iterator[Stored]:
        """Find vectors by their keys, each at most once, in no order."""
        wanted = set(keys)
        for start in range(0, len(keys), ASK_AT_ONCE):
            part = keys[start : start + ASK_AT_ONCE]
            marks = ",".join("?" * len(part))
            for key, blob, truncated, checksum in self._connection.execute(READ.format(marks), (shelf, *part)):
                if key not in wanted:  # only a damaged index answers with what was not asked
                    continue
                wanted.remove(key)
                whole = _whole(shelf, key, blob, truncated, checksum) and len(blob) == 4 * dimensions
                yield Stored(key, np.frombuffer(blob, dtype="<f4") if whole else None, bool(truncated))

    def write(self, shelf: str, keys: Iterable[bytes], vectors: Vectors, truncated: Iterable[bool]) -> None:
        """Keep the vectors of one batch, all or none of them."""
        rows = []
        for key, vector, cut in zip(keys, vectors, truncated, strict=True):
            blob = vector.astype("<f4", copy=False).tobytes()
            rows.append((shelf, key, blob, int(cut), _checksum(shelf, key, blob, int(cut))))
        with self._connection:
            self._connection.executemany(WRITE, rows)


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open or create a file of vectors; other processes may have it open too.

    Raises
    ------
    StoreError
        The file is damaged, no cache at all, or cannot be written; nothing is deleted.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        with closing(sqlite3.connect(path, timeout=WAIT_SECONDS)) as connection:
            _prepare(connection)
            yield Store(connection)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"the cache of vectors {path} cannot be used ({error}). Check that its folder can be written and has room. "
        "If the file is damaged, remove it with its -wal and -shm files: the vectors are then made again."
    )


def _prepare(connection: sqlite3.Connection) -> None:
    """Set the file up; two processes that create it at once must wait for each other."""
    last = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")  # does not honour the connection's own waiting time
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(SCHEMA)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > last:
                raise
            time.sleep(0.02)


def _checksum(shelf: str, key: bytes, blob: bytes, truncated: int) -> int:
    return zlib.crc32(blob, zlib.crc32(key + shelf.encode(), truncated))


def _whole(shelf: str, key: bytes, blob: object, truncated: object, checksum: object) -> bool:
    """Tell whether a row is as it was written; in a damaged file even the types may have changed."""
    return isinstance(blob, bytes) and isinstance(truncated, int) and checksum == _checksum(shelf, key, blob, truncated)


def _identity(stored: str) -> ModelIdentity | None:
    """Read an identity that was kept; None when it is damaged, which only costs embedding again."""
    try:
        fields = json.loads(stored)
        del fields["digest"]
        return ModelIdentity(**{**fields, "reference": tuple(fields["reference"])})
    except (ValueError, TypeError, KeyError):
        return None
