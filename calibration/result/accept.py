"""The one way in which a baseline changes: whole, or not at all."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..params import RunParams
from ..studies.calibrate import calibrate
from ..studies.check.baseline import ACCEPTED, MANIFEST, QUERIES, RECOMMENDATION, REPORT, Baseline
from ..studies.facts import command, public_parameters, versions
from ..studies.progress import SILENT, Reporter
from .document import queries_records, recommendation_document
from .files import dumps, write_text

ABANDONED = 3600.0
"""Seconds after which files that were never completed are a killed process's."""


def accept_baseline(baseline: Baseline, params: RunParams, report: Reporter = SILENT) -> dict[str, Any]:
    """Choose the floor anew and put recommendation and queries in place of the baseline's; give the recommendation.

    A run.json beside them is written anew too: with old parameters there the next check would ask another system.

    Raises
    ------
    ParameterError
        The baseline lies in a folder of a run, whose other files would belong to another floor.
    """
    path: Path = baseline.path
    if path.name == RECOMMENDATION and (path.parent / REPORT).exists():
        raise ParameterError(
            f"{path.parent} is the folder of a run, whose report would belong to another floor than its "
            f"recommendation. Repeat the run with `calibrate run`, and keep the baseline in a folder of its own."
        )
    calibration = calibrate(params, report)
    document = recommendation_document(calibration)
    lines = "".join(dumps(record, indent=None) + "\n" for record in queries_records(calibration))
    files = {path.name: dumps(document) + "\n", QUERIES: lines}
    if MANIFEST in written(baseline):
        manifest = {
            "schema_version": 1, "parameters": public_parameters(params), "command": command(params),
            "versions": versions(),
        }  # fmt: skip
        files[MANIFEST] = dumps(manifest) + "\n"
    replace_files(path.parent, files)
    return document


def replace_files(folder: Path, files: Mapping[str, str]) -> None:
    """Put several files in place of their old ones, by name; a process killed on the way leaves the old ones or a rest.

    The new ones are written aside. From the moment their folder is called `ACCEPTED` they count: `read_baseline`
    refuses what is half in place, and `finish` puts the rest there.

    Raises
    ------
    ParameterError
        Another baseline is being accepted there.
    """
    for left in folder.glob(f"{ACCEPTED}-*"):
        if _abandoned(left):
            shutil.rmtree(left, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f"{ACCEPTED}-{os.getpid()}-", dir=folder))
    try:
        for name, text in files.items():
            write_text(aside / name, text)
        try:
            os.rename(aside, folder / ACCEPTED)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            raise ParameterError(f"another baseline is being accepted in {folder}; nothing was changed.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    finish(folder)


def finish(folder: Path) -> bool:
    """Put in place what an interrupted `replace_files` left complete; tell whether there was anything."""
    pending = folder / ACCEPTED
    if not pending.is_dir():
        return False
    for file in sorted(pending.iterdir()):
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(file, folder / file.name)
    with suppress(OSError):  # the same, or the next set is there by now
        pending.rmdir()
    return True


def _abandoned(aside: Path) -> bool:
    """Whether files that are not complete yet were left by a killed process, rather than being written right now."""
    try:
        if time.time() - aside.stat().st_mtime > ABANDONED:
            return True
        if os.name == "posix":
            os.kill(int(aside.name.split("-")[1]), 0)
    except (ProcessLookupError, ValueError, IndexError):
        return True
    except OSError:  # it is gone already, or another user's
        return False
    return False


def written(baseline: Baseline) -> list[str]:
    """Names of the files that accepting writes."""
    beside = [MANIFEST] if (baseline.path.parent / MANIFEST).is_file() else []
    return [baseline.path.name, QUERIES, *beside]
