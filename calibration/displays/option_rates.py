"""The options side by side: what each keeps, refuses, sends on and takes."""

import pandas as pd
from markupsafe import Markup

from ..choose import Rate
from ..studies.options.measure import Option
from ..studies.options.study import Options
from ..studies.options.verdicts import milliseconds
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import counted, interval, percent, short

RATES = {
    "hit_rate": ("Hit rate", "answerable, keep an answer"),
    "recall_micro": ("Recall", "relevant passages sent on"),
    "risk_low": ("Risk, at least", "answered, none relevant"),
    "risk_high": ("Risk, at most", "the same, unjudged wrong"),
    "coverage": ("Coverage", "labelled, get passages"),
    "false_answer_rate_off_topic": ("False answers", "off-topic, get passages"),
    "false_answer_rate_probes": ("False answers, probes", "probes, get passages"),
    "false_answer_rate_missing_answer": ("Answer missing", "and get passages"),
    "empty_context_rate": ("Empty context", "answerable, get nothing"),
}


class OptionRatesDisplay(TableDisplay):
    """Every rate of every option, on queries that its floors have not seen."""

    title = "The options side by side"

    def __init__(self, options: Options) -> None:
        self.options = options

    def frame(self) -> pd.DataFrame:
        """One row per option and rate: option, rate, value, numerator, denominator, low, high."""
        rows = [
            {
                "option": one.title,
                "rate": name,
                "value": rate.value,
                "numerator": rate.numerator,
                "denominator": rate.denominator,
                "low": rate.low,
                "high": rate.high,
            }
            for one in self.options.measured
            for name, rate in _all_rates(one).items()
        ]
        return pd.DataFrame(rows).astype({"value": "float64", "low": "float64", "high": "float64"})

    @property
    def caption(self) -> str:
        """How it was measured."""
        found = self.options
        costs = found.bench.costs
        tokens = f" Tokens by {found.counted_by}." if found.counted_by else ""
        return (
            f"The same queries, the same first {found.bench.top_k.value} passages at most, and floors that were chosen "
            f"without the query they are used on. Expected cost: a lost answer weighs {short(costs.miss)}, a false one "
            f"{short(costs.false_answer)}, with {costs.off_topic_share:.0%} of the traffic off-topic. Added latency is "
            f"the median on this machine, beside the vector search that all of them make.{tokens}"
        )

    def _tables(self) -> list[Markup]:
        measured = self.options.measured
        rows: list[dict[str, Cell]] = []
        for name, (words, meaning) in RATES.items():
            if any(one.rates[name].denominator for one in measured):
                rows.append(_rates(words, meaning, [one.rates[name] for one in measured], measured))
        grades = sorted({grade for one in measured for grade in one.recall_by_grade}, reverse=True)
        for grade in grades if len(grades) > 1 else ():
            rates = [one.recall_by_grade[grade] for one in measured]
            rows.append(_rates(f"Recall, grade {grade}", "passages sent on", rates, measured))
        rows += _plain(measured)
        note = "Under each rate: count [95% interval in percent], or count/queries where options answer different ones."
        missing = [f"{one.title} was not measured: {one.missing}." for one in self.options.options if one.missing]
        return [table_html(pd.DataFrame(rows), self.title, headers={"rate": ""}, note=" ".join([note, *missing]))]


def _plain(measured: tuple[Option, ...]) -> list[dict[str, Cell]]:
    def each(words: str, meaning: str, cells: list[Cell]) -> dict[str, Cell]:
        return _row(words, meaning, cells, measured)

    return [
        each(
            "Passages",
            "per answerable query",
            [_mean(one.context.passages, one.context.off_topic_passages, ".1f") for one in measured],
        ),
        each(
            "Tokens",
            "per answerable query",
            [_mean(one.context.tokens, one.context.off_topic_tokens, ",.0f") for one in measured],
        ),
        each(
            "K it needs",
            "in its own order",
            [Cell("–" if one.top_k_needed is None else str(one.top_k_needed), True) for one in measured],
        ),
        each(
            "Added latency",
            "per query",
            [Cell("–" if one.latency is None else milliseconds(one.latency.median), True) for one in measured],
        ),
        each("Floors", "to maintain", [Cell(str(len(one.thresholds)), True) for one in measured]),
        each(
            "Labels needed",
            "answerable, to certify",
            [
                Cell(str(one.labels.answerable), True, counted(one.labels.off_topic, "off-topic", "off-topic"))
                for one in measured
            ],
        ),
        each(
            "Expected cost",
            "of a query",
            [Cell("–" if one.cost is None else short(one.cost), True) for one in measured],
        ),
    ]


def _row(words: str, meaning: str, cells: list[Cell], measured: tuple[Option, ...]) -> dict[str, Cell]:
    return {"rate": Cell(words, False, meaning), **dict(zip((one.title for one in measured), cells, strict=True))}


def _rates(words: str, meaning: str, rates: list[Rate], measured: tuple[Option, ...]) -> dict[str, Cell]:
    """Make a row; a denominator that all share stands once, at its head, so that five options fit on a page."""
    shared = {rate.denominator for rate in rates}
    if len(shared) == 1:
        return _row(
            words,
            f"{meaning}; of {shared.pop():,}",
            [_rate(rate, interval(rate).removesuffix("%")) for rate in rates],
            measured,
        )
    return _row(words, meaning, [_rate(rate, "") for rate in rates], measured)


def _rate(rate: Rate, within: str) -> Cell:
    if rate.value is None:
        return Cell("–", True)
    detail = f"{rate.numerator:g} [{within}]" if within else f"{rate.numerator:g}/{rate.denominator}"
    return Cell(percent(rate.value), True, detail)


def _mean(value: float | None, off_topic: float | None, how: str) -> Cell:
    if value is None:
        return Cell("–", True)
    return Cell(format(value, how), True, "" if off_topic is None else f"off-topic {format(off_topic, how)}")


def _all_rates(one: Option) -> dict[str, Rate]:
    by_grade = {f"recall_grade_{grade}": rate for grade, rate in one.recall_by_grade.items()}
    return {**one.rates, **by_grade}
