"""The deploy sheet: what to write where, what was run to be sure of it, and how the server searches."""

from typing import Any

import pandas as pd
from markupsafe import Markup

from ..result.deploy import deploy_document
from ..studies.model import Calibration
from .base import TableDisplay, style
from .tables import Cell, folded, table_html, templates
from .texts import exact, shorten

COLUMNS = (
    "system", "setting", "score", "comparison", "inclusive", "value", "why_not", "missing", "evidence", "link",
    "snippet",
)  # fmt: skip
EF_SEARCH = 40
"""pgvector's default of hnsw.ef_search: without iterative scans an HNSW index returns no more rows than that."""
TITLES = {
    "executed": "Tested on the sample",
    "documented": "By their documentation, not tested",
}


class DeployDisplay(TableDisplay):
    """The floor in the score, the comparison and the words of each system that searches."""

    title = "Deploy"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        self._sheet: dict[str, Any] = deploy_document(calibration)

    def frame(self) -> pd.DataFrame:
        """One row per place to write a floor into; empty without a floor."""
        return pd.DataFrame(self._sheet["consumers"], columns=list(COLUMNS))

    @property
    def caption(self) -> str:
        """Which number goes where."""
        k = self._sheet["top_k"]
        if self.calibration.floor is None:
            return f"There is no floor to deploy: ask for the {k} best passages and cut nothing."
        return (
            f"Ask for the {k} best passages, then cut. Copy a number only with its comparison: the same floor is "
            "another number in another score. Where a system compares with > or <, so that equality does not pass, its "
            "number is moved by a hair, and the same passages pass. A quantised index rounds its scores: calibrate on "
            "those."
        )

    @property
    def sql(self) -> str | None:
        """The pgvector query; None where no operator gives the score."""
        sql: str | None = self._sheet["sql"]
        return sql

    @property
    def plan(self) -> list[str]:
        """EXPLAIN of that query; empty where no database was asked."""
        found = self._sheet["plan"]
        return [] if found is None else list(found["lines"])

    @property
    def about_the_plan(self) -> str:
        """Say whether an index serves the query, and what to do where none does."""
        found = self._sheet["plan"]
        if found is None:
            return ""
        if found["reason"] is not None:
            return f"The server would not plan it: {shorten(found['reason'], 300)}"
        if found["uses_index"] is not None:
            return (
                f"The server searches by the index {shorten(found['uses_index'])}. It is approximate: with a filter, "
                "set hnsw.iterative_scan (or ivfflat.iterative_scan), or fewer passages than asked for may come back."
                f"{self._about_the_depth}"
            )
        if found["fitting"]:
            return (
                f"The index {shorten(found['fitting'][0])} fits, but for a table of this size the server "
                f"reads all rows, which is exact.{self._about_the_depth}"
            )
        kind = self.calibration.facts["search_plan"].get("column_type", "vector")
        opclass = kind + {"<=>": "_cosine_ops", "<->": "_l2_ops", "<#>": "_ip_ops"}[found["operator"]]
        return f"The server reads all rows, which is exact: no index for {found['operator']} ({opclass}) is there."

    @property
    def _about_the_depth(self) -> str:
        k = self._sheet["top_k"]
        return (
            "" if k <= EF_SEARCH else f" An HNSW index gives at most hnsw.ef_search ({EF_SEARCH}) rows: set it to {k}."
        )

    def _tables(self) -> list[Markup]:
        tables = []
        for evidence, title in TITLES.items():
            rows = [row for row in self._sheet["consumers"] if row["evidence"] == evidence]
            if not rows:
                continue
            shown = pd.DataFrame(
                {
                    "where": [Cell(row["system"], False, row["setting"]) for row in rows],
                    "keeps": [Cell(_kept(row), False, f"of its score: {row['score']}") for row in rows],
                    "without a score": [row["missing"] for row in rows],
                }
            )
            names = dict.fromkeys(row["system"].split(",")[0].split(" ")[0] for row in rows)
            tables.append(folded(f"{title}: {', '.join(names)}", table_html(shown, title, code=["keeps"])))
        return tables

    def _links(self) -> list[tuple[str, str]]:
        """Address of each documentation, with the systems it is of."""
        by_link: dict[str, list[str]] = {}
        for row in self._sheet["consumers"]:
            by_link.setdefault(row["link"], []).append(row["system"].split(",")[0].split(" ")[0])
        return [(", ".join(dict.fromkeys(names)), link) for link, names in by_link.items()]

    def _refusals(self) -> list[str]:
        """Name where no number works, and why; one line per reason."""
        rows = [row for row in self._sheet["consumers"] if row["why_not"] is not None]
        by_reason: dict[str, list[str]] = {}
        for row in rows:
            by_reason.setdefault(row["why_not"], []).append(row["system"])
        return [f"{', '.join(dict.fromkeys(systems))}: {reason}." for reason, systems in by_reason.items()]

    def _snippets(self) -> list[tuple[str, str]]:
        return [
            (f"{row['system']}: {row['setting']}", row["snippet"])
            for row in self._sheet["consumers"]
            if row["snippet"] is not None and row["evidence"] == "executed"
        ]

    def _repr_html_(self) -> str:
        return (
            templates()
            .get_template("deploy.html")
            .render(
                style=style(),
                lead=self.caption,
                tables=self._tables(),
                refusals=self._refusals(),
                snippets=self._snippets(),
                links=self._links(),
                sql=self.sql,
                plan="\n".join(self.plan),
                about=self.about_the_plan,
            )
        )


def _kept(row: dict[str, Any]) -> str:
    return "no number works" if row["why_not"] is not None else f"{row['comparison']} {exact(row['value'])}"
