"""What this machine and the user's database offer: the facts behind `doctor` and `clean`."""

import importlib.metadata
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..embed import MODELS
from ..errors import CalibrationError
from ..params import RunParams
from ..resources import cache_dir
from .facts import versions
from .vectors import users_table


@dataclass(frozen=True)
class Examination:
    """Facts as plain JSON, and what stands in the way of a run."""

    facts: dict[str, Any]
    problems: tuple[str, ...]


def examine(params: RunParams | None) -> Examination:
    """Look at packages, models, cache and embedded server, and at the user's table when the parameters name one."""
    from ..sources.postgres.server import embedded_status

    status = embedded_status(cache_dir())
    facts: dict[str, Any] = {
        "versions": versions(),
        "models": {name: _installed(dict(spec.packages)) for name, spec in MODELS.items()},
        "openai_api_key": "set" if os.environ.get("OPENAI_API_KEY") else "not set",
        "cache": {"folder": str(cache_dir()), "bytes": folder_size(cache_dir())},
        "embedded_server": {
            "installed": status.installed,
            "folder": str(status.folder),
            "running": status.running,
            "in_use": status.in_use,
            "bytes": status.bytes_on_disk,
        },
    }
    problems: list[str] = []
    if params is not None and params.table is not None:
        facts["database"], found = _database(params)
        problems += found
    return Examination(facts, tuple(problems))


def detach_password(dsn: str) -> str:
    """Move the password of a dsn into PGPASSWORD, where libpq finds it and no file does, and return the rest."""
    from ..sources.postgres import split_password

    rest, password = split_password(dsn)
    if password is not None:
        os.environ["PGPASSWORD"] = password
    return rest


def cached() -> list[Path]:
    """List what this package has put into the cache, the embedded server first."""
    from ..sources.postgres.server import embedded_folder

    folder = cache_dir()
    # named one by one: CALIBRATION_CACHE may be a folder that holds other things as well
    ours = [embedded_folder(folder), folder / "pulls", folder / "jupyter", *sorted(folder.glob("vectors-*.sqlite*"))]
    return [path for path in ours if path.exists()]


def clean_cache() -> list[Path]:
    """Remove cached vectors, kept pulls and the embedded server; return what was removed.

    Raises
    ------
    StoreError
        The embedded server is in use; nothing was removed.
    """
    from ..sources.postgres.server import remove_embedded

    removed = cached()
    remove_embedded(cache_dir())
    for path in removed:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # something else lies there
        cache_dir().rmdir()
    return removed


def folder_size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; 0 without one."""
    if not path.is_dir():
        return path.lstat().st_size if path.exists() else 0
    size = 0
    for file in path.rglob("*"):
        with suppress(FileNotFoundError):  # somebody is at work there
            size += 0 if file.is_dir() else file.lstat().st_size
    return size


def _database(params: RunParams) -> tuple[dict[str, Any], list[str]]:
    try:
        found = users_table(params).preflight()
    except CalibrationError as error:
        return {"error": str(error)}, [str(error)]
    facts = {
        "server_version": found.server_version,
        "pgvector_version": found.pgvector_version,
        "table": found.table,
        "filter": found.filter,
        "rows": found.rows,
        "null_vectors": found.null_vectors,
        "zero_vectors": found.zero_vectors,
        "dimensions": {str(width): rows for width, rows in found.dimensions.items()},
        "norms": {"min": found.norm_min, "max": found.norm_max, "not_unit": found.not_unit},
        "indexes": [vars(index) for index in found.indexes],
        "models": found.models,
        "notes": [problem for problem in found.problems if problem not in found.blocking],
    }
    return facts, list(found.blocking)


def _installed(packages: dict[str, str]) -> str:
    """ready, or what is missing or of another version."""
    wrong = []
    for name, wanted in packages.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} is not installed")
            continue
        if found != wanted:
            wrong.append(f"{name} is {found}, expected {wanted}")
    return "; ".join(wrong) or "ready"
