"""What a floor depends on and is no longer as it was."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from ..studies.check.staleness import Change
from .base import TableDisplay
from .tables import table_html
from .texts import counted

MEANING = {
    "stale": "choose the floor anew",
    "recheck": "the queries were asked again; see the rates",
    "fine": "nothing depends on it",
}


class ChangesDisplay(TableDisplay):
    """Model, corpus, labels, contract and policy: what changed, and what each change means for the floor."""

    title = "What changed"

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes

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

    def _tables(self) -> list[Markup]:
        if not self.changes:
            return []
        frame = self.frame().assign(
            consequence=[f"{one.consequence}: {MEANING[one.consequence]}" for one in self.changes]
        )
        return [table_html(frame, self.title, headers={"words": "what"})]
