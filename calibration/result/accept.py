"""The one way in which a baseline changes: whole, or not at all."""

import os
import shutil
import tempfile
from collections.abc import Mapping
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
        shutil.rmtree(left, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f"{ACCEPTED}-", dir=folder))
    try:
        for name, text in files.items():
            write_text(aside / name, text)
        try:
            os.rename(aside, folder / ACCEPTED)
        except OSError:
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
        os.replace(file, folder / file.name)
    pending.rmdir()
    return True


def written(baseline: Baseline) -> list[str]:
    """Names of the files that accepting writes."""
    beside = [MANIFEST] if (baseline.path.parent / MANIFEST).is_file() else []
    return [baseline.path.name, QUERIES, *beside]
