"""Stop the embedded server when its last user is gone, however it went; run as a script, standard library only."""

import os
import signal
import socket
import sys
import time
from pathlib import Path

STARTING = "starting"
"""Name of the file that stands while a user starts the server."""


def main(home: Path, data: Path) -> None:
    """Wait in the background until nobody holds `home`/users.lock, then stop the server of `data`."""
    import fcntl

    own = os.open(home / "keeper.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # there is a keeper already
    users = os.open(home / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
    if os.fork() != 0:
        os._exit(0)  # the caller need not wait; the locks go with the child
    os.setsid()
    fcntl.flock(users, fcntl.LOCK_EX)
    _stop_starting(home, data)
    os.close(own)  # before `users`: a user admitted now must see that no keeper is left
    os.close(users)


def _stop_starting(home: Path, data: Path, *, patience: float = 10.0) -> None:
    """Stop the server; where the last user died while it was starting, wait until it can be stopped."""
    marker = home / STARTING
    deadline = time.monotonic() + patience
    while not stop(data) and marker.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    marker.unlink(missing_ok=True)


def stop(data: Path, *, patience: float = 20.0) -> bool:
    """Ask the server of a data folder to shut down, then tell it to, and wait; False if none was running."""
    process = live_process(data)
    if process is None:
        return False
    for order in (signal.SIGINT, signal.SIGQUIT):  # its "fast" and its "immediate" shutdown
        os.kill(process, order)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not (data / "postmaster.pid").exists():
                return True
            time.sleep(0.02)
    return True


def live_process(data: Path) -> int | None:
    """Process id of a server that accepts connections; a pid file alone may name a stranger by now."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        process, port, sockets = int(lines[0]), lines[3].strip(), lines[4].strip()
    except (OSError, IndexError, ValueError):
        return None
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(f"{sockets}/.s.PGSQL.{port}")
    except OSError:
        return None
    finally:
        probe.close()
    return process


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
