"""Identifier queries: what words find that vectors miss."""

import pandas as pd
from markupsafe import Markup

from ..choose import Rate
from ..studies.options.study import Options
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import counted, interval, out_of, percent, records, short


class OptionIdentifiersDisplay(TableDisplay):
    """Where the lexical leg pays: queries that name a code, a number or a symbol."""

    title = "Identifier queries"

    def __init__(self, options: Options) -> None:
        self.options = options

    def frame(self) -> pd.DataFrame:
        """One row per segment: kind, n, hits of each leg and of their fusion, only one leg's, neither, low, high."""
        return self.options.identifiers.legs.copy()

    @property
    def caption(self) -> str:
        """What the lexical leg finds alone, with its interval, and whether the hybrid search profits."""
        found = self.options.identifiers
        if not found.n:
            return f"There is no answerable identifier query ({found.how}), so what words add to them was not measured."
        words = found.only_words
        return (
            f"{counted(found.n, 'answerable identifier query', 'answerable identifier queries')} ({found.how}). "
            f"Words find an answer for {out_of(words)} that the vectors miss ({percent(words.value)}, "
            f"{interval(words)}), and vectors for {out_of(found.only_vectors)} that words miss, both within the first "
            f"{self.options.bench.top_k.value}. {self._hybrid()}"
        )

    def _hybrid(self) -> str:
        versus = self.options.identifiers.versus
        if versus is None:
            return "The hybrid search could not be compared."
        base = self.options.get(versus.second).title
        said = f"With its floors, the hybrid search keeps {versus.first_better} that {base} loses"
        said += f" and loses {versus.second_better} that it keeps (exact p = {short(round(versus.p_value, 4))}"
        return said + (")." if versus.measurable else "): no measurable difference on these labels.")

    def _tables(self) -> list[Markup]:
        found = self.options.identifiers
        if not found.n:
            return []
        shown = [
            {
                "queries": row["kind"],
                "answerable": row["n"],
                "vectors": row["similarity"],
                "words": row["lexical"],
                "fused": row["fused"],
                "only vectors": row["only_similarity"],
                "only words": row["only_lexical"],
                "neither": row["neither"],
            }
            for row in records(self.frame())
        ]
        kept = [{"option": title, "answers kept": _cell(rate)} for title, rate in found.kept.items()]
        legs = table_html(pd.DataFrame(shown), "Answers within K by leg, without a gate")
        return [legs, table_html(pd.DataFrame(kept), "Identifier queries that keep an answer, with the floors")]


def _cell(rate: Rate) -> Cell:
    return (
        Cell("–", True) if rate.value is None else Cell(percent(rate.value), True, f"{out_of(rate)} [{interval(rate)}]")
    )
