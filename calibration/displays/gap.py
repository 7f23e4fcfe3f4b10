"""The gap between answers and noise, and who stands in it."""

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..choose import NoFloor, blocking
from ..studies.model import Calibration
from .base import TableDisplay
from .tables import folded, table_html
from .texts import counted, listing, short

VERDICT = {
    "clean": "A clean gap",
    "narrow": "A narrow gap",
    "overlapping": "The bands overlap",
    "none": "No gap",
}
_MEANING = {
    "clean": "A floor between them keeps the one and refuses the other.",
    "narrow": "A floor fits between them, with little to spare.",
    "overlapping": "Every floor loses some answers or lets some noise through.",
    "none": "",
}


class GapDisplay(TableDisplay):
    """Both gaps, what they amount to, and the queries that block them."""

    title = "Gap between best relevant and far noise"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per figure: what, value, from, to."""
        gap = self.calibration.choice.gap
        relevant, noise = self._scored()
        rows = [
            {
                "what": "gap: 95th percentile of far noise to 5th of best relevant",
                "value": gap.quantile,
                "from": gap.low if gap.quantile is not None else None,
                "to": gap.high if gap.quantile is not None else None,
            },
            {
                "what": "extreme gap: highest far noise to lowest best relevant",
                "value": gap.extreme,
                "from": float(noise.max()) if len(noise) else None,
                "to": float(relevant.min()) if len(relevant) else None,
            },
        ]
        variability = getattr(self.calibration.choice, "variability", None)
        if variability is not None:
            rows.append(
                {
                    "what": "floor over resampled queries, 5th to 95th percentile",
                    "value": None,
                    "from": variability[0],
                    "to": variability[1],
                }
            )
        return pd.DataFrame(rows).astype({"value": "float64", "from": "float64", "to": "float64"})

    @property
    def caption(self) -> str:
        """The verdict and what it rests on."""
        gap = self.calibration.choice.gap
        if gap.n_relevant == 0 or gap.n_noise == 0:
            missing = "there are no relevant scores" if gap.n_relevant == 0 else "no far noise was scored"
            return f"No gap can be measured: {missing}."
        low, high = (
            short(gap.low if gap.low is not None else np.nan),
            short(gap.high if gap.high is not None else np.nan),
        )
        if gap.quantile is not None:
            ends = f"the 95th percentile of far noise is {low}, the 5th of best relevant {high}"
            also = ""
        else:
            ends = f"the highest far noise is {low}, the lowest best relevant {high}"
            also = " With fewer than 20 values a side only the extremes are compared."
        unranked = len(self.calibration.bands["best_relevant"]) - gap.n_relevant
        beyond = f"; {counted(unranked, 'answer')} ranked too low for any floor left out" if unranked > 0 else ""
        sizes = f"{counted(gap.n_noise, 'noise value')}, {counted(gap.n_relevant, 'answer')}{beyond}"
        return f"{VERDICT[gap.verdict]}: {ends} ({sizes}).{also} {_MEANING[gap.verdict]} {self._blockers()}".rstrip()

    def blocking(self) -> pd.DataFrame:
        """Name the queries in each other's way, worst first: side, query_id, similarity, doc_id."""
        choice, bands = self.calibration.choice, self.calibration.bands
        relevant, noise = bands["best_relevant"], bands["far_noise"]
        above: tuple[int, ...] = ()
        below: tuple[int, ...] = ()
        if isinstance(choice, NoFloor):
            above, below = choice.blocking_noise, choice.blocking_relevant
        if not above and not below:
            above, below = blocking(relevant.similarity, noise.similarity)
        rows = [("far noise above the weakest answer", noise, i) for i in above] + [
            ("answer below the strongest noise", relevant, i) for i in below
        ]
        return pd.DataFrame(
            [(side, band.query_ids[i], band.similarity[i], band.doc_ids[i]) for side, band, i in rows],
            columns=["side", "query_id", "similarity", "doc_id"],
        )

    def _blockers(self) -> str:
        rows = self.blocking()
        if len(rows) == 0:
            return ""
        return f"In each other's way: {listing(rows['query_id'].tolist(), 4)}."

    def _scored(self) -> tuple[np.ndarray, np.ndarray]:
        bands = self.calibration.bands
        return bands["best_relevant"].scored, bands["far_noise"].scored

    def _tables(self) -> list[Markup]:
        note = "The extreme gap shrinks as labels grow, so alone it decides nothing."
        tables = [table_html(self.frame(), self.title, headers={"value": "width"}, note=note)]
        rows = self.blocking()
        if len(rows):
            title = "Queries in each other's way"
            tables.append(table_html(rows, title, headers={"query_id": "query", "doc_id": "passage"}))
        return [folded("The two gaps, and the queries in each other's way", *tables)]
