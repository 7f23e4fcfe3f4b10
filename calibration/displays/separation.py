"""How well the fused score and the raw similarity tell off-topic queries, and two queries that tie in one of them."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..retrieval import SIMILARITY
from ..studies.hybrid.study import Hybrid
from .base import FigureDisplay
from .palette import COLOUR
from .tables import table_html
from .texts import counted, records, short, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BANDS = {"on-topic": "relevant", "off-topic": "far"}


class SeparationDisplay(FigureDisplay):
    """The best score of every query, on-topic against off-topic, by the fused score and by the raw similarity."""

    title = "Telling off-topic queries"
    height = 4.0
    narrow_height = 4.4

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """Return one row per query: band, and its best score by each."""
        tops = self.hybrid.tops
        return tops.copy() if tops["band"].nunique() == 2 else tops.iloc[:0]

    @property
    def caption(self) -> str:
        """Both AUCs, and the pair."""
        if self.empty:
            return "On-topic and off-topic queries are needed on both sides; these labels have one of them only."
        said = [f"{name}: AUC {self._auc(name)}" for name in self._names()]
        counts = self.frame()["band"].value_counts()
        far = counted(int(counts.get("off-topic", 0)), "off-topic query", "off-topic queries")
        on = counted(int(counts.get("on-topic", 0)), "on-topic query", "on-topic queries")
        return (
            "Chance that the best candidate of an on-topic query scores above that of an off-topic one; "
            f"{'; '.join(said)} ({on}, {far}). {self._tie()}"
        ).strip()

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Best score of each query as dots, on-topic above off-topic, once per score. {self.caption}"

    def _names(self) -> list[str]:
        return [name for name in self.frame().columns if name not in ("query_id", "band")]

    def _auc(self, name: str) -> str:
        one = self.hybrid.get(name)
        if one is None or one.auc is None:
            return "undefined"
        if one.low is None or one.high is None:
            return f"{one.auc:.3f}"
        return f"{one.auc:.3f} [{one.low:.2f}–{one.high:.2f}]"

    def _tie(self) -> str:
        pair = self.hybrid.pair
        if pair is None:
            return ""
        return (
            f"Ringed: {self._named(pair.on_topic)} finds its answer and {self._named(pair.off_topic)} has none, yet "
            f"both best candidates score {pair.score:.4f} by {pair.signal}; their similarities are "
            f"{short(pair.on_similarity)} and {short(pair.off_similarity)}."
        )

    def _named(self, query: str) -> str:
        text = self.hybrid.texts.get(query)
        return shorten(query) if text is None else f"{shorten(query)} (“{shorten(text, 70)}”)"

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        names = self._names()
        ax.set_axis_off()
        share = 1.0 / len(names)
        for place, name in enumerate(names):
            left, bottom = (0.16, 1.0 - share * (place + 1) + 0.13 * share + 0.02)
            self._panel(ax.inset_axes((left, bottom, 1.0 - left, share * 0.62)), name, narrow=narrow)

    def _panel(self, ax: "Axes", name: str, *, narrow: bool) -> None:
        from matplotlib.ticker import MaxNLocator

        frame = self.frame()
        rng = np.random.default_rng(0)
        for height, (band, colour) in enumerate(reversed(BANDS.items())):
            rows = frame[(frame["band"] == band) & frame[name].notna()]
            jitter = height + rng.uniform(-0.3, 0.3, len(rows))
            ax.plot(rows[name], jitter, "o", color=COLOUR[colour], markersize=2.6, alpha=0.55, linewidth=0)
        ax.xaxis.set_major_locator(MaxNLocator(4 if narrow else 8))
        ax.set_yticks([0, 1], list(reversed(BANDS)))
        ax.set_ylim(-0.55, 1.55)
        ax.tick_params(axis="y", length=0)
        pair = self.hybrid.pair
        if pair is not None:
            found = frame.set_index("query_id")[name]
            for height, query in ((1, pair.on_topic), (0, pair.off_topic)):
                ax.plot(
                    [found[query]], [height], "o", markersize=9, markerfacecolor="none", markeredgecolor=COLOUR["ink"],
                    markeredgewidth=1.4,
                )  # fmt: skip
        label = "raw similarity" if name == SIMILARITY else f"fused score ({name})"
        ax.set_title(f"{label}: AUC {self._auc(name)}", loc="left", fontweight="bold")

    def _table(self) -> Markup:
        rows = [
            {"score": name, "AUC": self._auc(name), **_spread(self.frame(), name, "on-topic"),
             **_spread(self.frame(), name, "off-topic")}
            for name in self._names()
        ]  # fmt: skip
        return table_html(pd.DataFrame(rows), self.title, headers={"score": ""})


def _spread(frame: pd.DataFrame, name: str, band: str) -> dict[str, str]:
    values = frame.loc[frame["band"] == band, name].dropna()
    if values.empty:
        return {band: "–"}
    quantiles = records(values.quantile([0.05, 0.5, 0.95]).rename({0.05: "a", 0.5: "b", 0.95: "c"}).to_frame().T)[0]
    return {band: f"{short(quantiles['a'])}, {short(quantiles['b'])}, {short(quantiles['c'])}"}
