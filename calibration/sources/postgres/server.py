"""The embedded PostgreSQL: one per cache folder, shared by all who use it, gone when the last of them is.

Every user holds a shared file lock, which the kernel drops when the process ends, however it ends. Whoever can get the
lock alone is the last, and stops the server: the leaving user, or after a kill -9 a small background keeper.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import psycopg

from ...errors import StoreError
from . import keeper
from .binaries import Binaries, find_binaries, server_account, wheel_folder
from .cluster import Cluster
from .locks import hold, make_sole

SOCKET_BYTES = 100
"""Longest socket path we use: the systems' limits are 107 and 103."""

SOCKET_NAME = ".s.PGSQL.5432"


@dataclass(frozen=True)
class EmbeddedStatus:
    """What `doctor` prints about the embedded server; `folder` is where its data are or would be."""

    installed: bool
    folder: Path
    initialised: bool
    running: bool
    in_use: bool
    bytes_on_disk: int


@dataclass
class PrivateServer:
    """A server of one's own, for tests; also a context manager."""

    cluster: Cluster
    conninfo: str = field(repr=False)

    def stop(self) -> None:
        """Stop the server; its folder stays."""
        self.cluster.stop()

    def remove(self) -> None:
        """Stop the server and remove its files."""
        self.stop()
        _remove_files(self.cluster.data.parent)

    def __enter__(self) -> "PrivateServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@contextmanager
def embedded_server(cache_dir: Path) -> Iterator[str]:
    """Yield a conninfo for the embedded server with pgvector, started if need be.

    Raises
    ------
    StoreError
        The server is not installed or does not start; the message says what to do.
    """
    home = _made(embedded_folder(cache_dir))
    with hold(home / "users.lock", shared=True) as users:
        with hold(home / "start.lock"):
            cluster = _cluster(home, find_binaries(home))
            # the keeper comes first, and the marker tells it of a server that a kill caught while it was starting
            marker = home / keeper.STARTING
            marker.touch()
            _ensure_keeper(home, cluster)
            _running(cluster)
            marker.unlink(missing_ok=True)
        try:
            yield cluster.conninfo
        finally:
            if users is not None and make_sole(users):
                cluster.stop()


def start_private_server(folder: Path, *, tcp_port: int | None = None, password: str | None = None) -> PrivateServer:
    """Start a server of one's own in `folder`, on a socket or, with a port, on 127.0.0.1; the caller stops it."""
    home = _made(_reachable(folder, folder))
    binaries = find_binaries(home)
    cluster = Cluster(binaries, home / "data", _sockets(home), tcp_port, password)
    _running(cluster)
    return PrivateServer(cluster, cluster.conninfo)


def embedded_status(cache_dir: Path) -> EmbeddedStatus:
    """Look at the embedded server without starting or making anything."""
    home = embedded_folder(cache_dir)
    installed = wheel_folder() is not None
    if not home.is_dir():
        return EmbeddedStatus(installed, home, False, False, False, 0)
    data = next(home.glob("data-*/PG_VERSION"), home / "data" / "PG_VERSION").parent
    size = _size(home)
    running = any(keeper.live_process(folder) is not None for folder in home.glob("data-*"))
    return EmbeddedStatus(installed, home, data.is_dir(), running, _in_use(home), size)


def _size(home: Path) -> int:
    """Bytes below a folder in which a server may be making and removing files right now."""
    size = 0
    for folder, _, names in os.walk(home):
        for name in names:
            with suppress(OSError):
                size += (Path(folder) / name).lstat().st_size
    return size


def stop_embedded(cache_dir: Path) -> bool:
    """Stop the embedded server if nobody uses it; False if none was running.

    Raises
    ------
    StoreError
        Another process uses it.
    """
    home = embedded_folder(cache_dir)
    if not home.is_dir():
        return False
    with _alone(home):
        return _stop_all(home)


def remove_embedded(cache_dir: Path) -> bool:
    """Stop the embedded server and remove all its files; False if there were none."""
    home = embedded_folder(cache_dir)
    if not home.is_dir():
        return False
    with _alone(home):
        _stop_all(home)
        _remove_files(home)
    return True


def embedded_folder(cache_dir: Path) -> Path:
    """Folder of the embedded server of a cache folder.

    As root the server runs under another account, which could not enter a private home, and opening that home to it is
    not ours to do: the folder then lies under /var/tmp, which survives a reboot.
    """
    return _reachable(cache_dir / "postgres", cache_dir)


def _reachable(wanted: Path, key: Path) -> Path:
    resolved = wanted.absolute()
    existing = next(path for path in (resolved, *resolved.parents) if path.exists())
    open_to_all = all(path.stat().st_mode & stat.S_IXOTH for path in (existing, *existing.parents))
    if server_account() is None or open_to_all:
        return resolved
    digest = hashlib.sha256(str(key.absolute()).encode()).hexdigest()[:12]
    return _shared_temporary() / f"retrieval-calibration-{digest}"


def _shared_temporary() -> Path:
    lasting = Path("/var/tmp")  # noqa: S108 - used with _made, which refuses a folder that is not ours
    return lasting if lasting.is_dir() else Path(tempfile.gettempdir())


def _made(folder: Path) -> Path:
    """Make a folder only its owner can write to, and refuse one that somebody else put there."""
    mode = 0o711 if server_account() is not None else 0o700
    for parent in reversed(folder.parents):
        if not parent.exists():
            parent.mkdir(mode=0o755)
    folder.mkdir(mode=mode, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise StoreError(f"{folder} is not a folder that only you can write to; remove it and try again.")
    folder.chmod(mode)
    return folder


def _cluster(home: Path, binaries: Binaries) -> Cluster:
    return Cluster(binaries, home / f"data-{binaries.major}", _sockets(home))


def _sockets(home: Path) -> Path:
    inside = home / "s"
    if len(os.fsencode(inside / SOCKET_NAME)) <= SOCKET_BYTES:
        return inside
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    outside = Path(tempfile.gettempdir()) / f"rc-{digest}"
    if len(os.fsencode(outside / SOCKET_NAME)) > SOCKET_BYTES:
        outside = Path("/tmp") / outside.name  # noqa: S108 - checked below
    if outside.exists():
        account = server_account()
        owner = outside.lstat()
        if owner.st_uid != (os.geteuid() if account is None else account.uid) or not stat.S_ISDIR(owner.st_mode):
            raise StoreError(f"{outside} belongs to somebody else; remove it and try again.")
    return outside


def _running(cluster: Cluster) -> None:
    cluster.initialise()
    cluster.start()
    with psycopg.connect(cluster.conninfo, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def _ensure_keeper(home: Path, cluster: Cluster) -> None:
    with hold(home / "keeper.lock", wait=False) as free:
        if free is None:
            return
    arguments = [sys.executable, "-I", "-S", keeper.__file__, str(home), str(cluster.data)]
    quiet = subprocess.DEVNULL
    with suppress(OSError):  # without a keeper only a kill -9 leaves the server running, until the next use
        subprocess.run(arguments, cwd="/", stdin=quiet, stdout=quiet, stderr=quiet, check=False)  # noqa: S603


def _in_use(home: Path) -> bool:
    with hold(home / "users.lock", wait=False) as alone:
        if alone is not None:
            return False
    # A lock that can be shared is a user's; one that cannot is held for a moment, by who stops or looks.
    with hold(home / "users.lock", shared=True, wait=False) as shared:
        return shared is not None


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Keep users out; waits for a stop that is under way, not for a user."""
    while True:
        with hold(home / "users.lock", wait=False) as alone:
            if alone is not None:
                yield
                return
        if _in_use(home):
            raise StoreError(f"the embedded PostgreSQL in {home} is in use by another process; end that one first.")
        time.sleep(0.02)


def _remove_files(home: Path) -> None:
    if _sockets(home).parent != home:
        shutil.rmtree(_sockets(home), ignore_errors=True)
    shutil.rmtree(home)


def _stop_all(home: Path) -> bool:
    """Stop every server below a folder whose users' lock we hold alone."""
    return any([keeper.stop(data) for data in home.glob("data-*")])
