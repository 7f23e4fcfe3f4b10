"""What to take, by the error one can least afford; and the paired comparisons behind it."""

import pandas as pd
from markupsafe import Markup

from ..choose.paired import LEVEL
from ..studies.options.study import Options
from ..studies.options.verdicts import CONTEXT_COST, FALSE, LOST, UPKEEP
from .base import Display, TableDisplay, style
from .tables import folded, table_html, templates
from .texts import records, short

CONCERNS = {
    LOST: "If you can least afford lost answers",
    FALSE: "If you can least afford false answers",
    CONTEXT_COST: "If you can least afford a long context",
    UPKEEP: "If you can least afford upkeep",
}
NO_VERDICT = "not measured"


class OptionVerdictsDisplay(Display):
    """One verdict per concern: read the one that is yours."""

    title = "Which option to take"

    def __init__(self, options: Options) -> None:
        self.options = options

    def frame(self) -> pd.DataFrame:
        """One row per concern: concern, take, no_difference, best, worse, words."""
        return pd.DataFrame(
            [
                {
                    "concern": one.concern,
                    "take": self._title(one.take),
                    "no_difference": one.no_difference,
                    "best": [self._title(name) for name in one.best],
                    "worse": [self._title(name) for name in one.worse],
                    "words": one.words,
                }
                for one in self.options.verdicts
            ]
        )

    @property
    def caption(self) -> str:
        """The four answers in one sentence."""
        said = [f"{row['concern']}: {row['take']}" for row in records(self.frame())]
        return f"What to take by the error you can least afford. {'; '.join(said)}."

    def _title(self, name: str | None) -> str:
        return NO_VERDICT if name is None else self.options.get(name).title

    def _repr_html_(self) -> str:
        rows = [
            {
                "concern": CONCERNS[row["concern"]],
                "take": f"{row['take']}{', no measurable difference' if row['no_difference'] else ''}",
                "about": row["concern"],
                **_first(row["words"]),
            }
            for row in records(self.frame())
        ]
        return templates().get_template("verdicts.html").render(style=style(), title=self.title, rows=rows, tables=[])


class OptionPairsDisplay(TableDisplay):
    """Every pair of options on each outcome, paired by query."""

    title = "Pairs of options"

    def __init__(self, options: Options) -> None:
        self.options = options

    def frame(self) -> pd.DataFrame:
        """One row per pair: concern, asked, first, second, first_better, second_better, p_value, measurable."""
        rows = []
        for verdict in self.options.verdicts:
            if verdict.tested is None:
                continue
            parts = [("", verdict.tested.pairs), ("probes", verdict.tested.more)]
            rows += [
                {
                    "concern": verdict.concern,
                    "asked": asked,
                    "first": self.options.get(pair.first).title,
                    "second": self.options.get(pair.second).title,
                    "first_better": pair.first_better,
                    "second_better": pair.second_better,
                    "p_value": pair.p_value,
                    "measurable": pair.measurable,
                }
                for asked, pairs in parts
                for pair in pairs
            ]
        names = ["concern", "asked", "first", "second", "first_better", "second_better", "p_value", "measurable"]
        return pd.DataFrame(rows, columns=names)

    @property
    def caption(self) -> str:
        """How the comparisons are made, and how many pairs differ."""
        frame = self.frame()
        return (
            f"Two options are compared on the same queries, paraphrases counted once: how many fare better under the "
            f"one, and how many under the other. The test is exact (McNemar's; for context, the sign test). Within a "
            f"concern all pairs share {LEVEL:.0%}, by Tarone's correction, which leaves out pairs that differ in too "
            f"few queries to ever show: so the chance of any false difference in a verdict is below {LEVEL:.0%}. Read "
            f"the verdict that is yours; the four together are not corrected. {int(frame['measurable'].sum())} of "
            f"{len(frame)} pairs differ measurably."
        )

    def _tables(self) -> list[Markup]:
        tables = []
        for (concern, asked), rows in self.frame().groupby(["concern", "asked"], sort=False):
            shown = rows.drop(columns=["concern", "asked"]).assign(p_value=[_p(value) for value in rows["p_value"]])
            title = f"{str(concern).capitalize()}{f', {asked}' if asked else ''}"
            tables.append(table_html(shown, title, headers={"p_value": "p"}))
        return [folded("Every pair of options", *tables)] if tables else []


def _first(words: str) -> dict[str, str]:
    """Tell the sentence with the numbers from those that argue."""
    first, stop, rest = words.partition(". ")
    return {"first": first + stop.strip(), "rest": rest}


def _p(value: float) -> str:
    return "under 0.0001" if value < 1e-4 else short(round(value, 4))
