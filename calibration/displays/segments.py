"""Floors per kind of query, and what each would do to the others."""

import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import exact, is_missing, listing, short, shorten

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
        """Return what each kind's floor does to the others: floor_of, floor, and a cell of counts per kind."""
        segments = self.calibration.segments
        if segments is None:
            return pd.DataFrame(columns=["floor_of", "floor"])
        names = [*(segment.name for segment in segments.segments), "all (recommended)"]
        floors = [*segments.floors, self.calibration.floor]
        rows = []
        for i, (name, floor) in enumerate(zip(names, floors, strict=True)):
            row: dict[str, object] = {"floor_of": name, "floor": floor}
            for j, segment in enumerate(segments.segments):
                kept, false = segments.hits[i, j], segments.false_answers[i, j]
                row[segment.name] = Cell(
                    f"{kept} of {segment.n} kept", False, f"{false} of {segment.n_noise} false answers"
                )
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
        frame = self.frame()
        shown = pd.DataFrame(
            {
                "kind": frame["kind"],
                "queries": frame["n"],
                "own floor": frame["own_floor"],
                "pulled to the global one": frame["pooled_floor"],
                "saved per unseen query": [
                    None if is_missing(gain) else f"{short(gain)} ± {short(error)}"
                    for gain, error in zip(frame["gain"], frame["standard_error"], strict=True)
                ],
                "pays": frame["recommended"],
                "queries to settle it": frame["needed"],
            }
        )
        matrix = table_html(
            self.matrix(), "What each kind's floor does to the others", headers={"floor_of": "floor of"}
        )
        return [table_html(shown, self.title, note="Saved: mean ± standard error, paired by query."), matrix]
