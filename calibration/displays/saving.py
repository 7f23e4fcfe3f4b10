"""Figures and tables as files: SVG and PNG, CSV and Parquet, told by the ending of the name."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ..errors import ParameterError
from ..result.files import write_atomic
from .palette import COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES, TABLES = ("svg", "png"), ("csv", "parquet")
DPI = 200


def kind_of(path: Path, kinds: tuple[str, ...], title: str) -> str:
    """Give the kind of file that a name asks for.

    Raises
    ------
    ParameterError
        This display cannot be saved as that, or there is no such folder.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in kinds:
        known = ", ".join(f".{one}" for one in kinds)
        raise ParameterError(f"“{title}” cannot be saved as {path.name!r}; a name may end in {known}.")
    if not path.parent.is_dir():
        raise ParameterError(f"{path} cannot be written: there is no folder {path.parent}.")
    return kind


def save_table(frame: pd.DataFrame, path: Path, kind: str) -> None:
    """Write a frame whole or not at all; missing is an empty cell in CSV and a null in Parquet, 0.0 is a value.

    CSV cannot tell an empty text from a missing one; Parquet can, and keeps every type.
    """
    if kind == "parquet":
        write_atomic(path, lambda partial: frame.to_parquet(partial, index=False))
    else:
        write_atomic(path, lambda partial: frame.to_csv(partial, index=False, lineterminator="\n", encoding="utf-8"))


def save_figure(ax: "Axes", path: Path, kind: str, *, title: str, alt: str) -> None:
    """Write the figure of some axes; the same figure gives the same bytes, and the file says in words what it shows."""
    metadata: dict[str, str | None] = {"Title": title, "Description": alt}
    if kind == "svg":
        metadata["Date"] = None

    def write(partial: Path) -> None:
        ax.figure.savefig(partial, format=kind, dpi=DPI, facecolor=COLOUR["paper"], metadata=metadata)  # type: ignore[union-attr]

    write_atomic(path, write)
