"""What moved between two runs: rates by pairs of queries, and the queries themselves."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from ..studies.check.drift import RateChange
from ..studies.check.runs import RunsCompared
from .base import TableDisplay
from .tables import Cell, folded, table_html
from .texts import counted, exact, interval, listing, out_of, percent

SHOWN = 12
CARRIED, OWN = "the old floor on the new scores", "each run at its own floor"


class MovedRatesDisplay(TableDisplay):
    """Every rate before and now, compared query by query."""

    title = "Rates before and now"

    def __init__(self, compared: RunsCompared) -> None:
        self.compared = compared

    def frame(self) -> pd.DataFrame:
        """One row per rate and comparison: counts before and now, worse, better, p, whether it is more than noise."""
        rows = [
            {
                "compared": name,
                "rate": rate.measure.name,
                "before": rate.before.numerator,
                "now": rate.now.numerator,
                "n": rate.paired.n,
                "worse": rate.paired.worse,
                "better": rate.paired.better,
                "p_value": rate.paired.p_value,
                "failed": rate.failed,
            }
            for name, rates in ((CARRIED, self.compared.carried), (OWN, self.compared.own))
            for rate in rates
        ]
        columns = ["compared", "rate", "before", "now", "n", "worse", "better", "p_value", "failed"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def caption(self) -> str:
        """What the old floor does today."""
        found = self.compared
        floor = "No floor" if found.old.floor is None else f"The old floor, {exact(found.old.floor)},"
        if found.verdict:
            return f"On the new scores the {found.verdict}: nothing is answered."
        if found.worse:
            return f"{floor} no longer does on the new scores what it did: {'; '.join(found.worse)}."
        if not found.carried:
            return "The new run has no scores on the scale of the old floor, so each run is shown at its own."
        kept = found.carried[0]
        return (
            f"{floor} keeps {out_of(kept.now)} answers on the new scores and kept {out_of(kept.before)} before; "
            "nothing got worse by more than noise."
        )

    def _tables(self) -> list[Markup]:
        note = (
            "Worse and better count queries. p: how often chance alone would move so many (exact McNemar test over "
            "groups of queries). Three rates can fail, each for the worse only, together in at most 5% of comparisons "
            "without a true change."
        )
        both = ((CARRIED, self.compared.carried), (OWN, self.compared.own))
        shown = [(name, rates) for name, rates in both if rates]
        return [
            table_html(_rows(rates), name[0].upper() + name[1:], note=note if i == len(shown) - 1 else "")
            for i, (name, rates) in enumerate(shown)
        ]


class MovedQueriesDisplay(TableDisplay):
    """Queries whose accepted set the old floor changes on the new scores."""

    title = "Accepted sets that changed"

    def __init__(self, compared: RunsCompared) -> None:
        self.compared = compared

    def frame(self) -> pd.DataFrame:
        """Return query_id, probe, added, removed, boundary."""
        rows = [
            {
                "query_id": one.query_id, "probe": one.probe, "added": list(one.added), "removed": list(one.removed),
                "boundary": one.boundary,
            }
            for one in self.compared.accepted
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["query_id", "probe", "added", "removed", "boundary"])

    @property
    def caption(self) -> str:
        """How many, and which queries must not have."""
        found = self.compared
        broken = [must.query_id for must in found.musts if must.broken]
        n = len(found.old.queries) - len(found.missing)
        said = f"{len(found.accepted):,} of {counted(n, 'query', 'queries')} get other passages under the old floor."
        if broken:
            return f"{said} Queries that must hit or must be refused and no longer do: {listing(broken)}."
        return said

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if len(frame) == 0:
            return []
        note = (
            f"The first {SHOWN} of {len(frame)}; the JSON file beside this page lists all."
            if len(frame) > SHOWN
            else ""
        )
        top = frame.head(SHOWN)
        shown = pd.DataFrame(
            {
                "query": top["query_id"],
                "added": [_docs(docs) for docs in top["added"]],
                "removed": [_docs(docs) for docs in top["removed"]],
            }
        )
        return [folded("Which passages came and went", table_html(shown, self.title, note=note))]


def _docs(docs: Sequence[str]) -> Cell:
    return Cell(f"{len(docs)}: {listing(docs, 2)}" if len(docs) else "none", False)


def _rows(rates: Sequence[RateChange]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "rate": Cell(rate.measure.words, False, _mark(rate)),
                "before": Cell(percent(rate.before.value), True, f"{out_of(rate.before)} [{interval(rate.before)}]"),
                "now": Cell(percent(rate.now.value), True, f"{out_of(rate.now)} [{interval(rate.now)}]"),
                "worse": rate.paired.worse if rate.measure.good is not None else None,
                "better": rate.paired.better if rate.measure.good is not None else None,
                "p": Cell(f"{rate.paired.p_value:.2g}", True),
            }
            for rate in rates
            if rate.before.denominator or rate.failed
        ]
    )


def _mark(rate: RateChange) -> str:
    if rate.failed:
        return "more than noise"
    if not rate.measure.gate or rate.paired.worse == rate.paired.better == 0:
        return ""
    return "within noise" if rate.paired.worse > rate.paired.better else "not worse"
