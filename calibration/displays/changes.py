"""What a floor depends on and is no longer as it was."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from ..studies.check.runs import RunsCompared
from ..studies.check.staleness import Change
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import counted, exact, shorten

MEANING = {
    "stale": "choose the floor anew",
    "recheck": "the queries were asked again; see the rates",
    "fine": "nothing depends on it",
}


class ChangesDisplay(TableDisplay):
    """Model, corpus, labels, contract and policy: what changed, and what each change means for the floor."""

    title = "What changed"

    def __init__(self, changes: Sequence[Change], compared: RunsCompared | None = None) -> None:
        self.changes = changes
        self.compared = compared

    def frame(self) -> pd.DataFrame:
        """Return part, consequence, words; one row per change."""
        rows = [{"part": one.part, "consequence": one.consequence, "words": one.words} for one in self.changes]
        return pd.DataFrame(rows, columns=["part", "consequence", "words"])

    @property
    def caption(self) -> str:
        """The gravest consequence."""
        stale = [change for change in self.changes if change.consequence == "stale"]
        if stale:
            first = stale[0].words
            return f"The old floor is stale: {first} A floor belongs to one model, corpus and contract."
        if not self.changes:
            return "Model, corpus, labels, contract and policy are as they were."
        return f"{counted(len(self.changes), 'thing')} changed; none of them makes the old floor meaningless by itself."

    def _runs(self) -> list[Markup]:
        """Name both runs: a page that is passed on has no folder beside it."""
        if self.compared is None:
            return []
        both = {"before": self.compared.old, "now": self.compared.new}
        rows = [
            {
                "run": name,
                "model": Cell(shorten(one.document["model"], 80), False, shorten(one.document.get("date") or "")),
                "floor": "none" if one.floor is None else exact(one.floor),
                "top-K": one.top_k,
            }
            for name, one in both.items()
        ]
        return [table_html(pd.DataFrame(rows), "The two runs", code=["floor"])]

    def _tables(self) -> list[Markup]:
        if not self.changes:
            return self._runs()
        frame = self.frame().assign(
            consequence=[f"{one.consequence}: {MEANING[one.consequence]}" for one in self.changes]
        )
        return [*self._runs(), table_html(frame, self.title, headers={"words": "what"})]
