"""One PostgreSQL data folder: made, started, asked, stopped."""

import os
import shlex
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from ...errors import StoreError
from .binaries import Binaries
from .keeper import stop

CLUSTER_NAME = "retrieval-calibration"
"""What our own servers call themselves, so that nothing is ever loaded into a user's database."""

START_SECONDS = 20.0
SETTINGS = {
    # Loading a table created in the same transaction then skips the write-ahead log.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "synchronous_commit": "off",
    "jit": "off",
    "max_connections": "40",
    "cluster_name": CLUSTER_NAME,
    "unix_socket_permissions": "0700",
}


@dataclass(frozen=True)
class Cluster:
    """A data folder and the way to its server.

    Attributes
    ----------
    sockets : Path
        Folder of the server's socket, owner-only.
    tcp_port : int or None
        Listen on 127.0.0.1 too; None means no TCP at all.
    """

    binaries: Binaries
    data: Path
    sockets: Path
    tcp_port: int | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Cluster(data={self.data}, sockets={self.sockets}, tcp_port={self.tcp_port})"

    @property
    def conninfo(self) -> str:
        """How to connect: through the socket, or over TCP where that is on."""
        port = 5432 if self.tcp_port is None else self.tcp_port
        host = str(self.sockets) if self.tcp_port is None else "127.0.0.1"
        return make_conninfo(host=host, port=port, user="postgres", dbname="postgres", password=self.password)

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.data / "server.log"

    def initialise(self) -> None:
        """Make the data folder if there is none; a half-made one never gets the final name."""
        if (self.data / "PG_VERSION").exists():
            return
        partial = self.data.with_name(self.data.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        self._own(partial)
        options = ["--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        secret = partial.with_name("password")
        try:
            if self.password is None:
                options.append("--auth=trust")
            else:
                self._write_private(secret, self.password)
                options += ["--auth=scram-sha-256", f"--pwfile={secret}"]
            for name, value in SETTINGS.items():
                options += ["--set", f"{name}={value}"]
            result = self.binaries.run("initdb", "-D", str(partial), *options, cwd=partial)
        finally:
            secret.unlink(missing_ok=True)
        if result.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            raise StoreError(f"initdb could not make {partial}: {result.stderr.strip()}")
        shutil.rmtree(self.data, ignore_errors=True)
        partial.rename(self.data)

    def start(self) -> None:
        """Start the server unless it answers; patient while a killed predecessor goes away."""
        if self.answers():
            return
        self._own(self.sockets)
        listen = "" if self.tcp_port is None else "127.0.0.1"
        port = 5432 if self.tcp_port is None else self.tcp_port
        options = f"-k {shlex.quote(str(self.sockets))} -h {shlex.quote(listen)} -p {port}"
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.log.unlink(missing_ok=True)
            arguments = ["start", "-w", "-t", "10", "-s", "-D", str(self.data), "-l", str(self.log), "-o", options]
            with suppress(subprocess.TimeoutExpired):  # the log says why
                self.binaries.run("pg_ctl", *arguments, cwd=self.data, capture=False)
            if self.answers():
                return
            if time.monotonic() > deadline:
                raise StoreError(f"the embedded PostgreSQL in {self.data} does not start: {self._log_tail()}")
            self._drop_strange_pid_file()
            time.sleep(0.05)

    def answers(self) -> bool:
        """Tell whether the server accepts connections; refused, still starting and stopping all mean no."""
        try:
            psycopg.connect(self.conninfo, connect_timeout=3).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> bool:
        """Stop the server; False if none was running."""
        return stop(self.data)

    def _drop_strange_pid_file(self) -> None:
        """Remove a dead server's pid file whose number now is some other program's: PostgreSQL would wait for that."""
        import psutil  # the wheel needs it, so it is there

        path = self.data / "postmaster.pid"
        with suppress(FileNotFoundError, ValueError, psutil.Error):
            if "postgres" not in psutil.Process(int(path.read_text().split("\n", 1)[0])).name():
                path.unlink()

    def _own(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.binaries.account is not None:
            os.chown(folder, self.binaries.account.uid, self.binaries.account.gid)

    def _write_private(self, path: Path, text: str) -> None:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        if self.binaries.account is not None:
            os.chown(path, self.binaries.account.uid, self.binaries.account.gid)

    def _log_tail(self) -> str:
        try:
            return " / ".join(self.log.read_text(errors="replace").strip().splitlines()[-3:])
        except OSError:
            return "it left no log"
