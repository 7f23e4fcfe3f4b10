"""The folder of a run: filled aside, published with the manifest last, recognised while it still stands."""

import hashlib
import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..result import dumps, write_text
from ..studies.facts import versions

if sys.platform != "win32":
    import fcntl

STAGING = ".partial-"
LOCK = "lock"
CODE = (".py", ".css", ".j2", ".html", ".json")


@contextmanager
def staging(out: Path) -> Iterator[Path]:
    """Make a folder beside the results in which files are finished; it goes away at the end, however that comes.

    What a killed process left is removed first; one at work holds a lock, and is left alone.

    Raises
    ------
    ParameterError
        `out` cannot be made or written to.
    """
    missing = [path for path in (out, *out.parents) if not path.exists()]
    new = out / f".new-{uuid.uuid4().hex[:8]}"
    folder = out / f"{STAGING}{uuid.uuid4().hex[:8]}"
    try:
        new.mkdir(parents=True)
    except OSError as error:
        raise ParameterError(f"the folder of the run, {out}, cannot be written to: {error.strerror}.") from None
    descriptor = os.open(new / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
        new.rename(folder)  # under its name it is locked from the first moment
        _sweep(out, folder)
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # results lie in it
            for path in missing:
                path.rmdir()


def unstaged(staged: Path, out: str) -> Callable[[str], str]:
    """Give a function that writes the folder of the run for the name of its staging folder in a text."""

    def change(text: str) -> str:
        return text.replace(f"{os.sep}{staged.name}", "").replace(staged.name, out)

    return change


def publish(
    staged: Path,
    folder: Path,
    files: Sequence[str],
    *,
    manifest: str,
    inputs: str,
    about: Mapping[str, Any],
) -> None:
    """Put finished files in place; the manifest goes away first and comes last, so a torn run is seen and repeated.

    Parameters
    ----------
    about : mapping
        For the manifest: parameters, command and further facts, free of secrets.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / manifest).unlink(missing_ok=True)
    hashes = {}
    for name in files:
        hashes[name] = file_hash(staged / name)
        os.replace(staged / name, folder / name)
    facts = {
        "schema_version": 1,
        **about,
        "inputs": inputs,
        "files": hashes,
        "versions": versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    # written aside, so that a process killed here leaves nothing beside the results
    write_text(staged / manifest, dumps(facts) + "\n")
    os.replace(staged / manifest, folder / manifest)


def stands(folder: Path, inputs: str, files: Sequence[str], *, manifest: str) -> bool:
    """Whether the manifest names the same inputs and every file is as it was written."""
    try:
        about = read_json(folder / manifest)
        return bool(about["inputs"] == inputs) and all(
            file_hash(folder / name) == about["files"][name] for name in files
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def inputs_hash(parameters: Mapping[str, Any], content: Any, notebook: Path) -> str:
    """Hash of all that the files of a run are made of: scores, parameters, notebook, this package and its libraries."""
    parts = {
        "scores": content,
        "parameters": dict(parameters),
        "notebook": file_hash(notebook),
        "code": _code_hash(),
        "versions": versions(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def file_hash(path: Path) -> str:
    """sha256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON document."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _sweep(out: Path, own: Path) -> None:
    for folder in out.glob(f"{STAGING}*"):
        if folder != own and _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    with suppress(OSError):
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            return _lock(descriptor)
        finally:
            os.close(descriptor)
    return False


def _lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False when somebody holds it, or where there are no such locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@cache
def _code_hash() -> str:
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in CODE and "bundled" not in path.parts:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
