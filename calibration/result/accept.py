"""The one way in which a baseline changes."""

from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..params import RunParams
from ..studies.calibrate import calibrate
from ..studies.check.baseline import MANIFEST, QUERIES, RECOMMENDATION, REPORT, Baseline
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
    write_text(path.parent / QUERIES, lines)
    if MANIFEST in written(baseline):
        manifest = {
            "schema_version": 1, "parameters": public_parameters(params), "command": command(params),
            "versions": versions(),
        }  # fmt: skip
        write_text(path.parent / MANIFEST, dumps(manifest) + "\n")
    write_text(path, dumps(document) + "\n")
    return document


def written(baseline: Baseline) -> list[str]:
    """Names of the files that accepting writes."""
    beside = [MANIFEST] if (baseline.path.parent / MANIFEST).is_file() else []
    return [baseline.path.name, QUERIES, *beside]
