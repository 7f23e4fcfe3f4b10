"""Documents whose acceptance flips, and what the wrong migrations would have done."""

import pandas as pd
from markupsafe import Markup

from ..studies.migrate.study import Migration
from .base import TableDisplay
from .tables import table_html
from .texts import counted

SHOWN = 25
MEANINGS = {
    "conversion": "the rules disagree although both searches are exact",
    "boundary rounding": "within the tolerance of the threshold or of the last rank",
    "index miss": "an approximate search did not return it",
    "filter": "an approximate search had too few candidates left after the filter",
    "not indexable": "a side has no vector for it, or a zero vector under a cosine",
    "corpus": "only one side holds it, or holds another vector",
}


class FlipsDisplay(TableDisplay):
    """Every flipped document with the first cause that applies."""

    title = "Documents that flip"

    def __init__(self, migration: Migration) -> None:
        self.migration = migration

    def frame(self) -> pd.DataFrame:
        """Return query_id, doc_id, change, cause, detail, exact, deployed, similarities and raw scores."""
        return self.migration.flips.copy()

    @property
    def caption(self) -> str:
        """How many, and how many of them the threshold is to blame for."""
        n = len(self.frame())
        if n == 0:
            return "No document flips."
        rule = self.migration.causes["conversion"]
        return (
            f"{counted(n, 'document flips', 'documents flip')}; in {rule} of {n} cases the rule itself differs, in the "
            "others what the search returned, or rounding."
        )

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if len(frame) == 0:
            return []
        counts = {str(key): int(n) for key, n in (frame["cause"] + " " + frame["change"]).value_counts().items()}
        rows = [
            {
                "cause": cause,
                **{change: counts.get(f"{cause} {change}", 0) for change in ("gained", "lost")},
                "meaning": meaning,
            }
            for cause, meaning in MEANINGS.items()
            if self.migration.causes[cause]
        ]
        note = f"The first {SHOWN} of {len(frame)}; migration.json lists all." if len(frame) > SHOWN else ""
        shown = frame.head(SHOWN)[
            ["query_id", "doc_id", "change", "cause", "detail", "old_similarity", "new_similarity"]
        ]
        headers = {
            "query_id": "query", "doc_id": "document", "old_similarity": "old similarity",
            "new_similarity": "new similarity",
        }  # fmt: skip
        return [
            table_html(pd.DataFrame(rows), "Causes"),
            table_html(shown, self.title, headers=headers, note=note),
        ]


class WrongMigrationsDisplay(TableDisplay):
    """What copying the number, or the number and its direction, does to the same queries."""

    title = "The rule, and two ways to get it wrong"

    def __init__(self, migration: Migration) -> None:
        self.migration = migration

    def frame(self) -> pd.DataFrame:
        """Return rule, comparison, documents, gained, lost, empty, changed."""
        return self.migration.wrong.copy()

    @property
    def caption(self) -> str:
        """The worst of them."""
        found = self.migration
        wrong = found.wrong[found.wrong["rule"] != "converted"]
        if len(wrong) == 0:
            return "Both sides state the rule with the same number and direction, so copying it is right."
        said = [
            f"With the {row['rule']} ({row['comparison']}) {counted(row['gained'], 'document is', 'documents are')} "
            f"accepted that the old rule refused, {row['lost']} are refused that it accepted, and "
            f"{row['empty']} of {len(found.query_ids)} queries get no answer."
            for row in wrong.to_dict("records")
        ]
        return f"On the new side's raw scores, searched exactly. {' '.join(said)}"

    def _tables(self) -> list[Markup]:
        headers = {"comparison": "accepts", "empty": "queries without answer", "changed": "answer decisions changed"}
        return [table_html(self.frame(), self.title, headers=headers, code=["comparison"])]
