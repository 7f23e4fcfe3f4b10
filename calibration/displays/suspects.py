"""Judgements worth a second reading."""

import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import TableDisplay
from .tables import folded, table_html
from .texts import counted

SHOWN = 12


class SuspectsDisplay(TableDisplay):
    """Suspected label errors, the most glaring first."""

    title = "Judgements worth a second reading"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return query_id, doc_id, relevance, similarity, why."""
        return self.calibration.suspects.copy()

    @property
    def caption(self) -> str:
        """How many, and what a suspicion is."""
        n = len(self.frame())
        if n == 0:
            return "No judgement looks wrong by its score."
        return (
            f"{counted(n, 'judgement looks', 'judgements look')} wrong by their scores. One mislabelled query can make "
            "a good corpus look hopeless; read them again before concluding anything. Nothing was changed or left out."
        )

    def _tables(self) -> list[Markup]:
        if len(self.frame()) == 0:
            return []
        note = f"The first {SHOWN} of {len(self.frame())}." if len(self.frame()) > SHOWN else ""
        shown = (
            self.frame().head(SHOWN).rename(columns={"query_id": "query", "doc_id": "passage", "relevance": "grade"})
        )
        return [folded("Which, and why", table_html(shown, self.title, note=note))]
