"""When a hybrid design returns nothing: each gate's rates side by side, and the one recommended."""

from collections.abc import Mapping

import pandas as pd
from markupsafe import Markup

from ..choose import Rate
from ..retrieval import SIMILARITY
from ..studies.analyse import costs_of
from ..studies.hybrid.designs import TOGETHER
from ..studies.hybrid.study import Hybrid
from .base import TableDisplay, style
from .tables import Cell, table_html, templates
from .texts import counted, exact, interval, percent, short

RATES = {
    "hit_rate": ("Hit rate", "answerable, keep an answer"),
    "recall": ("Recall", "relevant passages shown"),
    "empty_context_rate": ("Empty context", "answerable, get nothing"),
    "false_answer_rate_off_topic": ("False answers", "off-topic, get passages"),
    "false_answer_rate_probes": ("False answers, probes", "probes, get passages"),
    "false_answer_rate_missing_answer": ("Answer missing", "and get passages"),
}

ORDERS = {"rrf": "rrf (reciprocal rank fusion)"}


class GateDesignsDisplay(TableDisplay):
    """No gate, each floor alone, and either floor: what is answered, and what is refused."""

    title = "When the search returns nothing"

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """One row per design and rate: floors (chosen on "seen" or "unseen" queries), value, numerator and so on."""
        return pd.DataFrame(
            [
                {
                    "floors": floors,
                    "design": design,
                    "rate": name,
                    "value": rate.value,
                    "numerator": rate.numerator,
                    "denominator": rate.denominator,
                    "low": rate.low,
                    "high": rate.high,
                }
                for floors, found in (("seen", self.hybrid.designs), ("unseen", self.hybrid.unseen))
                for design, rates in found.items()
                for name, rate in rates.items()
            ]
        ).astype({"value": "float64", "low": "float64", "high": "float64"})

    @property
    def caption(self) -> str:
        """The rule, and what it does with candidates without a similarity."""
        found = self.hybrid
        if not found.floors:
            return "No signal that may gate has a floor on these labels, so this search cannot return nothing."
        floors = [
            f"{name} at or above {exact(floor.value)}"
            for name, floor in found.accept.items()
            if floor.value is not None
        ]
        rule = "Everything passes"
        if floors:
            rule = f"A candidate passes with {' or '.join(floors)}; a query of which none passes gets nothing"
        order = ORDERS.get(self.hybrid.order, self.hybrid.order)
        return " ".join(
            [
                f"{rule}.",
                *self._verdict(),
                *self._apart(),
                f"Order: {order}, first {self.hybrid.top_k.value}. {self._measured_on()}",
            ]
        )

    def _verdict(self) -> list[str]:
        best = self.hybrid.recommended
        if best is None:
            return []
        costs = costs_of(self.hybrid.params)
        weights = f"a lost answer weighs {short(costs.miss)}, a false one {short(costs.false_answer)}"
        said = [f"Of these gates “{best}” costs least here ({weights})."]
        if best == TOGETHER:
            first, second = self.hybrid.accept
            said.append(f"Its {second} floor is chosen on the queries that the {first} floor leaves.")
        return said

    def _measured_on(self) -> str:
        if not self.hybrid.unseen:
            return "Rates are those of the queries that chose the floors, too few to hold any out, and flatter them."
        return "Every query met floors that were chosen without it."

    @property
    def _shown(self) -> Mapping[str, Mapping[str, Rate]]:
        return self.hybrid.unseen or self.hybrid.designs

    def _apart(self) -> list[str]:
        counts = self.hybrid.gated.counts
        judge = self.hybrid.gated.judge
        kept = self.hybrid.params.unscored == "keep" and judge == SIMILARITY
        said = []
        if counts["unscored"]:
            score = "similarity" if judge == SIMILARITY else f"{judge} score"
            said.append(
                f"{counted(counts['unscored'], 'candidate')} without a {score}: {'kept' if kept else 'dropped'}, "
                "counted apart."
            )
        if counts["exempt"]:
            said.append(f"{counted(counts['exempt'], 'candidate')} declared exempt.")
        return said

    def _tables(self) -> list[Markup]:
        best = self.hybrid.recommended
        names = sorted(self._shown, key=lambda name: name != best)  # the best first, the others as they come
        rows: list[dict[str, Cell]] = [
            {"rate": Cell(words, False, meaning), **{name: _cell(self._shown[name][rate]) for name in names}}
            for rate, (words, meaning) in RATES.items()
            if self._measured(rate)
        ]
        rows.append({"rate": Cell("Expected cost", False, "of a query"), **{name: self._cost(name) for name in names}})
        return [table_html(pd.DataFrame(rows), self.title, headers={"rate": ""})]

    def _repr_html_(self) -> str:
        best = self.hybrid.recommended
        verdict = "No gate" if best is None or not self.hybrid.floors else f"Gate: {best}"
        template = templates().get_template("migration.html")
        return template.render(style=style(), verdict=verdict, lead=self.caption, tables=self._tables())

    def _cost(self, name: str) -> Cell:
        cost = self.hybrid.costs[name]
        return Cell("–" if cost is None else short(cost), True)

    def _measured(self, name: str) -> bool:
        return any(rates[name].denominator for rates in self._shown.values())


def _cell(rate: Rate) -> Cell:
    if rate.value is None:
        return Cell("–", True)
    return Cell(percent(rate.value), True, f"{rate.numerator:g}/{rate.denominator} [{interval(rate)}]")
