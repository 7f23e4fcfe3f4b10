"""What a migration does to the accepted sets: the verdict, both sides, and how far they agree."""

from typing import Any

import pandas as pd
from markupsafe import Markup

from ..studies.migrate.rates import Agreement
from ..studies.migrate.study import EXCEPT_BOUNDARY, NOT_SHOWN, UNCHANGED, Migration
from .base import TableDisplay, style
from .tables import table_html, templates
from .texts import counted, exact, listing, out_of, percent, short

NAMES = {"exact": "exact search", "deployed": "as deployed"}
LIMITS = ("iterative_scan", "max_scan_tuples", "max_probes")


class MigrationDisplay(TableDisplay):
    """The verdict, what was compared, and how far ranking and accepted sets agree."""

    title = "Agreement"

    def __init__(self, migration: Migration) -> None:
        self.migration = migration

    def frame(self) -> pd.DataFrame:
        """One row per measure: measure, exact, deployed; counts with their denominators."""
        columns = {step: _measures(found) for step, found in self.migration.agreement.items()}
        return pd.DataFrame(
            {"measure": list(columns["exact"]), **{step: list(rows.values()) for step, rows in columns.items()}}
        )

    @property
    def caption(self) -> str:
        """The verdict in words, and what it rests on."""
        near = self.migration.near
        return (
            f"{self.verdict}: {_told(self.migration)} Best candidates: {near['above']} above the threshold, "
            f"{near['near']} near it, {near['below']} below."
        )

    @property
    def verdict(self) -> str:
        """The verdict alone."""
        return self.migration.verdict.capitalize()

    def _tables(self) -> list[Markup]:
        note = "The order may agree while the accepted sets do not; a test of the ranking would not tell."
        tables = [
            table_html(self._sides(), "What was compared", code=["old", "new"]),
            table_html(self.frame(), self.title, headers=NAMES | {"measure": ""}, note=note),
        ]
        if self.migration.recall:
            tables.append(table_html(self._recall(), "What the index finds of the exact answer"))
        if self.migration.rates:
            tables.append(table_html(self._rates(), "Risk and coverage", note="Each rate has its own denominator."))
        return tables

    def _repr_html_(self) -> str:
        template = templates().get_template("migration.html")
        lead = self.caption.removeprefix(f"{self.verdict}: ")
        lead = lead[0].upper() + lead[1:]
        return template.render(style=style(), verdict=self.verdict, lead=lead, tables=self._tables())

    def _sides(self) -> pd.DataFrame:
        sides = {name: _about(side.describe()) for name, side in self.migration.sides.items()}
        return pd.DataFrame({"": list(sides["old"]), **{name: list(rows.values()) for name, rows in sides.items()}})

    def _recall(self) -> pd.DataFrame:
        return pd.DataFrame(
            [
                {
                    "side": name,
                    "of the first K": f"{percent(rates['at_k'].value)} ({out_of(rates['at_k'])})",
                    "of those past the threshold": f"{percent(rates['at_floor'].value)} ({out_of(rates['at_floor'])})",
                    "queries with losses": len(self.migration.missing[name]),
                }
                for name, rates in self.migration.recall.items()
            ]
        )

    def _rates(self) -> pd.DataFrame:
        words = {
            "old_exact_accepted": "old, exact", "old_accepted": "old, as deployed",
            "new_exact_accepted": "new, exact", "new_accepted": "new, as deployed",
        }  # fmt: skip
        return pd.DataFrame(
            [
                {"side": words[column]} | {name.replace("_", " "): f"{percent(rate.value)} ({out_of(rate)})"
                                           for name, rate in rates.items()}
                for column, rates in self.migration.rates.items()
            ]
        )  # fmt: skip


def _measures(found: Agreement) -> dict[str, Any]:
    return {
        "queries in the same order": out_of(found.ranking),
        "queries with the same accepted set": out_of(found.accepted),
        "documents accepted by both, of those by either": out_of(found.documents),
        "queries answered before": out_of(found.answered_before),
        "queries answered after": out_of(found.answered_after),
        "queries answered only before": str(len(found.lost_answers)),
        "queries answered only after": str(len(found.new_answers)),
    }


def _told(found: Migration) -> str:
    flipped, asked = len(found.flips), counted(len(found.query_ids), "query", "queries")
    if found.verdict == UNCHANGED:
        return f"over {asked} both sides accept the same documents."
    if found.verdict == EXCEPT_BOUNDARY:
        flips = counted(flipped, "document flips", "documents flip")
        return f"over {asked} {flips}, each within the tolerance of the threshold or of the last rank."
    if found.verdict == NOT_SHOWN:
        return (
            f"over {asked} nothing but rounding changed, but no query's best candidate lies within "
            f"{short(found.margin)} of the threshold, so a threshold that moved would not have been seen."
        )
    causes = [f"{cause} {count}" for cause, count in found.causes.items() if count]
    lost, gained = found.agreement["deployed"].lost_answers, found.agreement["deployed"].new_answers
    parts = [f"{counted(flipped, 'document flips', 'documents flip')} ({', '.join(causes)})."]
    if lost:
        parts.append(f"{counted(len(lost), 'query loses', 'queries lose')} every answer: {listing(lost)}.")
    if gained:
        told = counted(len(gained), "query gets an answer", "queries get an answer")
        parts.append(f"{told} that had none: {listing(gained)}.")
    return " ".join(parts)


def _about(side: dict[str, Any]) -> dict[str, str]:
    contract = side["contract"]
    index = side["index"]
    rule = f"{'>' if contract['higher_is_better'] else '<'}{'=' if contract['threshold_inclusive'] else ''}"
    return {
        "backend": side["adapter"],
        "metric": contract["metric"],
        "normalisation": contract["normalisation"],
        "accepts": f"{rule} {exact(side['threshold'])}",
        "as similarity": exact(side["floor"]),
        "top-K": str(side["top_k"]),
        "index": "none: exact" if index is None else _index(index),
        "filter": side.get("filter") or "none",
        "rows": f"{side['rows']:,}",
        "corpus hash": "unknown" if side["corpus_hash"] is None else side["corpus_hash"][:16],
    }


def _index(index: dict[str, Any]) -> str:
    kinds = index.get("kind")
    kind = ", ".join(kinds) if isinstance(kinds, list) else str(kinds)
    settings = index.get("settings", {name: value for name, value in index.items() if name != "kind"})
    plain = {name.split(".")[-1]: value for name, value in settings.items()}
    # the limits of a scan that is not iterated say nothing
    told = {name: value for name, value in plain.items() if name not in LIMITS or plain.get("iterative_scan") != "off"}
    return " ".join([kind, *(f"{name}={value}" for name, value in told.items())])
