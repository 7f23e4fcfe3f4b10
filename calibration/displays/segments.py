"""Floors per kind of query or per collection, and what each would do to the others."""

import pandas as pd
from markupsafe import Markup

from ..choose.segments import Segments
from ..studies.model import Calibration
from .base import TableDisplay
from .tables import Cell, folded, table_html
from .texts import exact, is_missing, short, shorten

COLUMNS = [
    "segment_by", "segment", "n", "n_noise", "own_floor", "pooled_floor", "gain", "standard_error", "recommended",
    "needed", "reason",
]  # fmt: skip
WORDS = {"kind": "kind of query", "collection": "collection"}


class SegmentsDisplay(TableDisplay):
    """Whether a floor of its own would pay for any kind of query, or for any collection."""

    title = "A floor per kind of query or collection"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per kind, then one per collection; empty where there is nothing to compare."""
        rows = [
            (by, s.name, s.n, s.n_noise, s.own, s.pooled, s.gain, s.standard_error, s.recommended, s.needed, s.reason)
            for by, segments in self._found().items()
            for s in segments.segments
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def matrix(self, by: str = "kind") -> pd.DataFrame:
        """Return what each segment's floor does to the others: floor_of, floor, and a cell of counts per segment."""
        segments = self._found().get(by)
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
        found = self._found()
        if not found:
            return "Floors per kind of query or collection need a floor and two of either; nothing is compared here."
        return " ".join(_verdict(WORDS[by], segments) for by, segments in found.items())

    def _found(self) -> dict[str, Segments]:
        both = {"kind": self.calibration.segments, "collection": self.calibration.collections}
        return {by: segments for by, segments in both.items() if segments is not None}

    def _tables(self) -> list[Markup]:
        frame, tables = self.frame(), []
        for by in self._found():
            own = table_html(
                _shown(frame[frame["segment_by"] == by], WORDS[by]),
                f"A floor per {WORDS[by]}",
                note="Saved: mean ± standard error, paired by query. Where a segment has fewer than 20 off-topic "
                "queries of its own, those of the whole corpus stand in.",
            )
            matrix = self.matrix(by)
            heads = {str(name): str(name) for name in matrix} | {"floor_of": "floor of"}
            others = table_html(matrix, f"What the floor of each {WORDS[by]} does to the others", headers=heads)
            tables.append(folded(f"The numbers for each {WORDS[by]}", own, others))
        return tables


def _verdict(word: str, segments: Segments) -> str:
    paying = [segment for segment in segments.segments if segment.recommended and segment.pooled is not None]
    if not paying:
        return f"No {word} earns a floor of its own: none saves beyond noise on unseen queries."
    floors = ", ".join(f"{shorten(one.name)} {exact(one.pooled)}" for one in paying if one.pooled is not None)
    return f"A floor of its own pays for these: {word} {floors}. Each is one more number that can go stale."


def _shown(frame: pd.DataFrame, word: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            word: frame["segment"],
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
