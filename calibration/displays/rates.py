"""Every rate with its numerator, denominator and interval, on seen and on unseen queries."""

import pandas as pd
from markupsafe import Markup

from ..choose import Rate
from ..studies.model import Calibration
from ..studies.rates import Outcome
from .base import TableDisplay, unseen
from .tables import Cell, folded, table_html
from .texts import exact, interval, out_of, percent

NAMES = {
    "hit_rate": ("Hit rate", "answerable queries that keep a relevant passage"),
    "empty_context_rate": ("Empty context", "answerable queries that get nothing"),
    "false_answer_rate_off_topic": ("False answers, off-topic", "off-topic queries that get passages"),
    "false_answer_rate_probes": ("False answers, probes", "probe queries that get passages"),
    "false_answer_rate_missing_answer": (
        "False answers, answer missing",
        "on-topic queries without an answer that get passages",
    ),
    "coverage": ("Coverage", "labelled queries that get passages"),
    "risk_low": ("Risk, at least", "answered queries without a relevant passage"),
    "risk_high": ("Risk, at most", "the same, unjudged passages counted as wrong"),
    "precision_judged": ("Precision, judged", "relevant among judged accepted passages"),
    "precision_low": ("Precision, at least", "the same, unjudged passages counted as wrong"),
    "unjudged_share": ("Unjudged", "accepted passages that nobody has judged"),
    "recall_micro": ("Recall, all passages", "relevant passages that are accepted"),
    "recall_macro": ("Recall, by query", "the mean over queries"),
}
FOLDED = tuple(NAMES)[tuple(NAMES).index("risk_low") :]
"""Rates of passages and of risk; those of questions decide, and stand first."""
IN_SAMPLE, HELD_OUT, OLD = "on the queries that chose it", "on unseen ones", "with the old floor"


class RatesDisplay(TableDisplay):
    """What the floor and the cap do, as rates."""

    title = "Rates"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per rate and set of queries: rate, measured, value, numerator, denominator, low, high."""
        rows = [
            {
                "rate": name,
                "measured": measured,
                "value": rate.value,
                "numerator": rate.numerator,
                "denominator": rate.denominator,
                "low": rate.low,
                "high": rate.high,
            }
            for measured, outcome in self._outcomes()
            for name, rate in _all_rates(outcome)
        ]
        return pd.DataFrame(rows).astype({"value": "float64", "low": "float64", "high": "float64"})

    @property
    def caption(self) -> str:
        """How to read the columns."""
        found = self.calibration
        if found.floor is None:
            said = f"There is no floor: these are the rates of K = {found.top_k.value} alone."
        elif unseen(found) is None:
            said = f"Floor {exact(found.floor)}, K = {found.top_k.value}; there are too few queries to hold some out."
        else:
            said = (
                f"Floor {exact(found.floor)}, K = {found.top_k.value}. “{IN_SAMPLE.capitalize()}” is what the labels "
                f"say of this floor; “{HELD_OUT}” gives every query a floor chosen without it, the fairer guess of "
                "what comes."
            )
        return f"{said} Brackets: 95% intervals."

    def _outcomes(self) -> list[tuple[str, Outcome]]:
        found = self.calibration
        all_three = [(IN_SAMPLE, found.in_sample), (HELD_OUT, unseen(found)), (OLD, found.old)]
        return [(name, outcome) for name, outcome in all_three if outcome is not None]

    def _tables(self) -> list[Markup]:
        outcomes = self._outcomes()
        first = IN_SAMPLE if self.calibration.floor is not None else "K alone"
        heads = {"rate": "", IN_SAMPLE: first}
        rows = {
            name: _row(Cell(brief, False, meaning), outcomes, [outcome.rates[name] for _, outcome in outcomes])
            for name, (brief, meaning) in NAMES.items()
            if any(outcome.rates[name].denominator for _, outcome in outcomes)
        }
        main = pd.DataFrame([row for name, row in rows.items() if name not in FOLDED])
        rest = pd.DataFrame([row for name, row in rows.items() if name in FOLDED])
        title, more = "What is kept, what is lost, what is answered wrongly", "Risk, precision and recall"
        tables = [table_html(main, title, headers=heads)] if len(main) else []
        return tables + ([folded(more, table_html(rest, more, headers=heads))] if len(rest) else [])


def _all_rates(outcome: Outcome) -> list[tuple[str, Rate]]:
    graded = [(f"recall_grade_{grade}", rate) for grade, rate in sorted(outcome.recall_by_grade.items())]
    return [*outcome.rates.items(), *graded]


def _row(name: Cell, outcomes: list[tuple[str, Outcome]], rates: list[Rate]) -> dict[str, Cell]:
    return {"rate": name, **{measured: _rate(rate) for (measured, _), rate in zip(outcomes, rates, strict=True)}}


def _rate(rate: Rate) -> Cell:
    if rate.value is None:
        return Cell("–", True)
    return Cell(percent(rate.value), True, f"{out_of(rate)} [{interval(rate)}]")
