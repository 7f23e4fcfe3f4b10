"""Which queries each leg answers, kind by kind: where the lexical one pays."""

import pandas as pd
from markupsafe import Markup

from ..choose import proportion
from ..studies.hybrid.study import Hybrid
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import interval, percent, records, shorten


class LegsDisplay(TableDisplay):
    """Answerable queries of each kind by the leg that finds an answer within K."""

    title = "What each leg finds"

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """Return kind, n, hits of each leg and of the fusion, what only one of them finds, and an interval."""
        return self.hybrid.kinds.copy()

    @property
    def caption(self) -> str:
        """The kind for which the lexical leg pays most."""
        frame = self.frame()
        if frame.empty:
            return "There is one leg only, so nothing can be compared."
        rows = records(frame[frame["n"] > 0])
        if not rows:
            return "No answerable query is labelled."
        best = max(rows, key=lambda row: row["only_lexical"] / row["n"])
        rate = proportion(best["only_lexical"], best["n"])
        name = "all queries" if best["kind"] == "all" else f"{shorten(best['kind'])} queries"
        verdict = "" if best["only_lexical"] else " On these labels the lexical leg adds nothing."
        return (
            f"Within the first {self.hybrid.top_k.value} of each leg. Of {name}, words alone find an answer for "
            f"{best['only_lexical']} of {best['n']} that the vectors miss ({percent(rate.value)}, {interval(rate)}); "
            f"the vectors alone for {best['only_similarity']}.{verdict}"
        )

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if frame.empty:
            return []
        rows = []
        for row in records(frame):
            only = proportion(row["only_lexical"], row["n"])
            share = "–" if only.value is None else f"{percent(only.value)} [{interval(only)}]"
            rows.append(
                {
                    "kind": shorten(row["kind"]),
                    "queries": row["n"],
                    "vectors": row["similarity"],
                    "words": row["lexical"],
                    "fused": row["fused"],
                    "only vectors": row["only_similarity"],
                    "only words": Cell(str(row["only_lexical"]), True, share),
                    "neither": row["neither"],
                }
            )
        note = "Fused: the first K of the fused list, without a gate. Brackets: 95% Wilson intervals."
        return [table_html(pd.DataFrame(rows), self.title, note=note)]
