"""File locks that the kernel releases when their holder dies, however it dies."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import StoreError

if sys.platform != "win32":
    import fcntl

    @contextmanager
    def hold(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[int | None]:
        """Hold a lock on a file, created if missing; yields its descriptor, None if taken and `wait` is off."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        descriptor = _locked(path, kind if wait else kind | fcntl.LOCK_NB)
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def make_sole(descriptor: int) -> bool:
        """Turn a shared lock into the only one; False (and the lock is lost) when others hold it too."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _locked(path: Path, operation: int) -> int | None:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, operation)
                # Someone may have removed the file while we waited: a lock on a nameless file protects nothing.
                if _names(path, descriptor):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                return None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _names(path: Path, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

else:

    @contextmanager
    def hold(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[int | None]:
        """Refuse: the embedded server needs POSIX locks and sockets."""
        raise StoreError(
            "the embedded PostgreSQL runs on Linux and macOS only. Give the address of a PostgreSQL server with "
            "pgvector (--dsn), or use WSL."
        )
        yield None

    def make_sole(descriptor: int) -> bool:
        """Never reached, as no lock is ever held here."""
        return False
