"""Hits against K, with the floor in place, and what each K costs."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..choose import TopK
from ..studies.model import Calibration
from .base import FigureDisplay
from .lines import whole_numbers, wilson_band
from .palette import COLOUR
from .tables import table_html
from .texts import counted, out_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRICES = 7
"""Most prices written along the top, fewer on a phone."""


def why_this_cap(top_k: TopK) -> str:
    """Say how the cap was chosen.

    Examples
    --------
    >>> why_this_cap(TopK(2, 3, (1, 3, 3), 4, "labels", 2))
    'the smallest that loses at most 2 of the 3 answers that 3 passages keep'
    """
    if top_k.chosen_by == "budget":
        return "given as a budget"
    if top_k.chosen_by == "default":
        return "a default, for lack of answerable queries"
    most = f"the {top_k.hits[-1]:,} answers that {counted(top_k.k_max, 'passage')} keep"
    return f"the smallest that loses at most {top_k.allowed} of {most}"


def price_in_words(calibration: Calibration, k: int) -> str:
    """Give passages and, where they were counted, tokens per answerable query at a cap."""
    passages, tokens = calibration.price.at(k)
    return "nothing" if passages is None else _amount(passages, tokens)


class TopKDisplay(FigureDisplay):
    """What each K keeps and costs, and where more passages stop helping."""

    title = "Hits and price by K"
    height = 3.1
    narrow_height = 3.1

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return top_k, hits, n, the Wilson bounds of the hit rate, and passages and tokens per answerable query."""
        top_k = self.calibration.top_k
        low, high = wilson_band(top_k.hits, top_k.n)
        frame = pd.DataFrame({"top_k": range(1, len(top_k.hits) + 1), "hits": top_k.hits, "n": top_k.n})
        frame = frame.assign(hit_rate_low=low, hit_rate_high=high, chosen=frame["top_k"] == top_k.value)
        return frame.merge(self.calibration.price.by_k, on="top_k", how="left")

    @property
    def caption(self) -> str:
        """What the chosen K keeps of what the largest one does, at which price, and what the next smaller would do."""
        top_k = self.calibration.top_k
        if self.empty:
            return f"K = {top_k.value} is a default: no answerable query is labelled to choose it on."
        kept, most = top_k.hits[top_k.value - 1], top_k.hits[-1]
        against = "" if top_k.chosen_by == "labels" and kept < most else f", against {most} at K = {len(top_k.hits)}"
        return " ".join(
            sentence
            for sentence in (
                f"K = {top_k.value} is {why_this_cap(top_k)}: {kept} of {top_k.n} answerable queries keep a relevant "
                f"passage{against}.",
                self._price(),
                self._smaller(),
                self._counted(),
            )
            if sentence
        )

    @property
    def empty(self) -> bool:
        """Whether no answerable query is labelled."""
        return self.calibration.top_k.n == 0

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Answerable queries that keep a relevant passage against K, with the floor in place. {self.caption}"

    def _price(self) -> str:
        found = self.calibration
        binds, k = found.price.binds, found.top_k.value
        more = "more passages than that" if found.floor is None else "more passages at or above the floor"
        price = price_in_words(found, k)
        return f"Such a query gets {price} on average; the cap binds for {out_of(binds)}, which have {more}."

    def _smaller(self) -> str:
        found = self.calibration
        top_k, smaller = found.top_k, found.top_k.next_smaller
        if smaller is None:
            return ""
        passages, tokens = found.price.at(top_k.value)
        less, fewer = found.price.at(smaller)
        if passages is None or less is None:
            return ""
        saved = _amount(passages - less, None if tokens is None or fewer is None else tokens - fewer)
        share = "" if passages == 0 else f", {percent(round((passages - less) / passages, 2))} of the passages,"
        lost = top_k.hits[top_k.value - 1] - top_k.hits[smaller - 1]
        losing = "lose no answer" if lost == 0 else f"lose {counted(lost, 'answer')} more"
        return f"K = {smaller} would {losing} and save {saved}{share} per query."

    def _counted(self) -> str:
        by = self.calibration.price.counted_by
        return "Tokens are not counted: the texts of the passages are not here." if by is None else f"Tokens by {by}."

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame()
        top_k = self.calibration.top_k
        ax.grid(axis="y")
        ax.vlines(
            frame["top_k"],
            frame["hit_rate_low"] * top_k.n,
            frame["hit_rate_high"] * top_k.n,
            color=COLOUR["relevant"],
            alpha=0.35,
        )
        ax.plot(frame["top_k"], frame["hits"], "o", color=COLOUR["relevant"], markersize=4.5)
        k, hits = top_k.value, top_k.hits[top_k.value - 1]
        ax.plot([k], [hits], "o", markersize=9, markerfacecolor="none", markeredgecolor=COLOUR["ink"])
        share = k / len(frame)
        ax.annotate(
            f"K = {k}: {hits} of {top_k.n}",
            (k, hits),
            xytext=(0, -12),
            textcoords="offset points",
            ha="left" if share <= 0.15 else "right" if share > 0.85 else "center",
            va="top",
            fontweight="bold",
            bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 1.0, "alpha": 0.9},
        )
        ax.set_xlim(0.4, len(frame) + 0.6)
        ax.set_ylim(0, max(top_k.n, 1) * 1.04)
        whole_numbers(ax, "x")
        whole_numbers(ax, "y")
        ax.set_xlabel("K")
        ax.set_ylabel("queries with a relevant passage")
        _prices(ax, frame, k, most=4 if narrow else PRICES)

    def _table(self) -> Markup:
        frame = self.frame().round({"passages": 2, "tokens": 0}).astype({"tokens": "Int64"})
        price = ["passages", "tokens"] if self.calibration.price.counted_by is not None else ["passages"]
        heads = {"top_k": "K", "passages": "passages per query", "tokens": "tokens per query"}
        columns = ["top_k", "hits", "n", *price, "hit_rate_low", "hit_rate_high", "chosen"]
        return table_html(frame[columns], self.title, headers=heads)


def _amount(passages: float, tokens: float | None) -> str:
    said = f"{passages:.1f} passages"
    return said if tokens is None else f"{said} ({tokens:,.0f} tokens)"


def _prices(ax: "Axes", frame: pd.DataFrame, chosen: int, *, most: int) -> None:
    """Write what some K cost along the top: tokens where they were counted, else passages."""
    tokens = bool(frame["tokens"].notna().any())
    prices = frame.set_index("top_k")["tokens" if tokens else "passages"]
    if prices.isna().all():
        return
    apart = len(frame) / most
    places = [int(k) for k in np.unique(np.linspace(1, len(frame), min(most, len(frame))).round())]
    shown = sorted({chosen, *(k for k in places if abs(k - chosen) >= 0.8 * apart)})
    axis = ax.secondary_xaxis("top")
    axis.set_xticks(shown, [f"{prices[k]:,.0f}" if tokens else f"{prices[k]:.1f}" for k in shown])
    axis.tick_params(length=0)
    axis.spines["top"].set_visible(False)
    axis.set_xlabel("tokens per query" if tokens else "passages per query")
