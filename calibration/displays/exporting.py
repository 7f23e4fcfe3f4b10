"""Every figure and every table of one run as files, for slides, papers and spreadsheets."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..studies.model import Calibration
from .base import Display
from .saving import FIGURES, TABLES

FOLDERS = {**dict.fromkeys(FIGURES, "figures"), **dict.fromkeys(TABLES, "tables")}


def export_kinds(text: str) -> list[str]:
    """Read a list of kinds of files.

    Raises
    ------
    ParameterError
        A kind that is none.

    Examples
    --------
    >>> export_kinds("svg, CSV")
    ['svg', 'csv']
    """
    kinds = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [kind for kind in kinds if kind not in FOLDERS]
    if unknown or not kinds:
        found = ", ".join(map(repr, unknown)) or "nothing"
        raise ParameterError(f"files can be {', '.join(FOLDERS)}; found {found}.")
    return list(dict.fromkeys(kinds))


def export(study: Calibration, folder: Path | str, kinds: Sequence[str]) -> list[Path]:
    """Write `figures/<name>.svg` and the like, and `tables/<name>.csv`, below a folder, and give their paths.

    Files of these names are replaced. Displays with nothing to show are left out; an earlier file of theirs is removed.

    Parameters
    ----------
    kinds : sequence of str
        Of svg, png, csv and parquet.
    """
    written = []
    for display in _shown(study):
        empty = len(display.frame()) == 0 or bool(getattr(display, "empty", False))
        for kind in kinds:
            if kind not in display.kinds:
                continue
            path = Path(folder) / FOLDERS[kind] / f"{_name(display)}.{kind}"
            if empty:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(display.save(path))
    return written


def _shown(calibration: Calibration) -> list[Display]:
    """Make every display of one calibration, by name."""
    from calibration import displays  # this package, which is whole once somebody asks

    kinds: list[Any] = [getattr(displays, name) for name in sorted(displays.__all__)]
    return [
        kind(calibration) for kind in kinds if next(iter(inspect.signature(kind).parameters), None) == "calibration"
    ]


def _name(display: Display) -> str:
    """Give a file's name: RiskCoverageDisplay is risk_coverage."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(display).__name__.removesuffix("Display")).lower()
