"""Floors per kind of query, and what each would do to the others."""

import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import TableDisplay
from .tables import table_html
from .texts import exact, listing, shorten

COLUMNS = ["kind", "n", "own_floor", "pooled_floor", "gain", "standard_error", "recommended", "needed", "reason"]


class SegmentsDisplay(TableDisplay):
    """Whether a floor of its own would pay for any kind of query."""

    title = "A floor per kind of query"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per kind; empty where there is nothing to compare."""
        segments = self.calibration.segments
        rows = [] if segments is None else segments.segments
        return pd.DataFrame(
            [(s.name, s.n, s.own, s.pooled, s.gain, s.standard_error, s.recommended, s.needed, s.reason) for s in rows],
            columns=COLUMNS,
        )

    def matrix(self) -> pd.DataFrame:
        """Return what each kind's floor does to the others: floor_of, floor, and per kind hits and false answers."""
        segments = self.calibration.segments
        if segments is None:
            return pd.DataFrame(columns=["floor_of", "floor"])
        names = [segment.name for segment in segments.segments]
        rows = []
        for i, (name, floor) in enumerate(
            zip([*names, "all (recommended)"], [*segments.floors, self.calibration.floor], strict=True)
        ):
            row: dict[str, object] = {"floor_of": name, "floor": floor}
            for j, segment in enumerate(segments.segments):
                row[f"{segment.name}: kept"] = f"{segments.hits[i, j]} of {segment.n}"
                row[f"{segment.name}: false"] = f"{segments.false_answers[i, j]} of {segment.n_noise}"
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def caption(self) -> str:
        """The verdict."""
        segments = self.calibration.segments
        if segments is None:
            return "Floors per kind of query need a floor and at least two kinds of queries; nothing is compared here."
        paying = [segment.name for segment in segments.segments if segment.recommended]
        if not paying:
            return "No kind of query earns a floor of its own: none saves beyond noise on unseen queries."
        floors = ", ".join(
            f"{shorten(s.name)} {exact(s.pooled)}" for s in segments.segments if s.recommended and s.pooled is not None
        )
        return f"A floor of its own pays for {listing(paying)}: {floors}. Each is one more number that can go stale."

    def _tables(self) -> list[Markup]:
        if self.calibration.segments is None:
            return []
        headers = {"own_floor": "own floor", "pooled_floor": "pulled toward the global one", "gain": "saved per query"}
        return [
            table_html(self.frame(), self.title, headers=headers),
            table_html(self.matrix(), "What each kind's floor does to the others", headers={"floor_of": "floor of"}),
        ]
