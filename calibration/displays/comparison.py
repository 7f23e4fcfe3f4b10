"""Several models side by side: each has its own floor, and none carries."""

from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd
from markupsafe import Markup

from ..studies.caveats import MANY_UNJUDGED
from ..studies.model import Calibration
from .base import FigureDisplay, style, unseen
from .palette import COLOUR
from .tables import Cell, table_html
from .texts import exact, interval, out_of, percent, records, short, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CARRIED = [
    "from_model", "to_model", "floor", "hits", "n_answerable", "empty", "false_answers", "n_off_topic", "verdict",
]  # fmt: skip


UNEVEN = 0.1
"""Difference of two models' shares of unjudged passages from which the reader is told."""


class Compared(Protocol):
    """What a comparison study gives: the calibrations, and what each floor does under the other models."""

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """One per model."""
        ...

    @property
    def carried(self) -> pd.DataFrame:
        """One row per ordered pair of models."""
        ...


class ComparisonDisplay(FigureDisplay):
    """Each model's own floor, and a matrix of what it would do under the others."""

    title = "Floors by model"

    def __init__(self, comparison: Compared) -> None:
        self.comparison = comparison

    def frame(self) -> pd.DataFrame:
        """One row per model: floor, top-K, status, hit rate and refusals."""
        return pd.DataFrame([_own(found) for found in self.comparison.calibrations])

    @property
    def caption(self) -> str:
        """The worst thing a carried floor does."""
        carried = self._others()
        if len(carried) == 0:
            return "There is one model only, so no floor can be carried."
        missed, false = self._worst("n_answerable", "hits"), self._worst("n_off_topic", "false_answers", most=True)
        return (
            f"Each row is one model's floor, each column the model it is used under. {_carried(missed)} keeps "
            f"{missed['hits']} of {missed['n_answerable']} answers; {_carried(false)} answers {false['false_answers']} "
            f"of {false['n_off_topic']} off-topic queries. A floor belongs to one model."
        )

    @property
    def alt(self) -> str:
        """The figure in words."""
        n = len(self.comparison.calibrations)
        return f"Matrix of answers kept when the floor of one of {n} models is used under another. {self.caption}"

    def _unjudged(self) -> str:
        """Warn of a comparison that rests on what happens to be judged."""
        found = self.comparison.calibrations
        shares = sorted((one.unjudged.value, one.name) for one in found if one.unjudged.value is not None)
        if not shares or shares[-1][0] < MANY_UNJUDGED:
            return ""
        said = (
            f"Unjudged passages fill {percent(shares[-1][0])} of the first K of {shorten(shares[-1][1])}: some may be "
            "answers, so hit rates are lower bounds"
        )
        if shares[-1][0] - shares[0][0] >= UNEVEN:
            return f"{said}, and this one's more than that of {shorten(shares[0][1])} ({percent(shares[0][0])})."
        return f"{said}."

    def _names(self) -> list[str]:
        return [found.name for found in self.comparison.calibrations]

    def _others(self) -> pd.DataFrame:
        carried = self.comparison.carried
        return carried[carried["from_model"] != carried["to_model"]]

    def _height(self, *, narrow: bool) -> float:
        return 1.1 + 0.55 * max(len(self._names()), 2)

    def _cells(self) -> pd.DataFrame:
        own = [
            {
                "from_model": found.name, "to_model": found.name, "hits": found.in_sample.rates["hit_rate"].numerator,
                "n_answerable": found.in_sample.rates["hit_rate"].denominator, **_false(found),
            }
            for found in self.comparison.calibrations if found.floor is not None
        ]  # fmt: skip
        others = self._others()
        return pd.concat([pd.DataFrame(own), others], ignore_index=True) if own else others

    def _worst(self, whole: str, part: str, *, most: bool = False) -> dict[str, Any]:
        """Give the pair of models that keeps the smallest (or largest) share."""
        rows = records(self._others())
        return (max if most else min)(rows, key=lambda row: row[part] / row[whole] if row[whole] else 0.5)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        names = self._names()
        for row in records(self._cells()):
            if row["from_model"] in names and row["to_model"] in names:
                _cell(ax, names.index(row["to_model"]), len(names) - 1 - names.index(row["from_model"]), row, narrow)
        across, down = (10, 12) if narrow else (20, 28)
        ax.set_xticks(range(len(names)), [shorten(name, across) for name in names])
        floors = {
            found.name: "no floor" if found.floor is None else short(found.floor)
            for found in self.comparison.calibrations
        }
        ax.set_yticks(range(len(names)), [f"{shorten(name, down)}\n{floors[name]}" for name in reversed(names)])
        ax.xaxis.set_ticks_position("top")
        ax.xaxis.set_label_position("top")
        ax.set_xlabel("used under")
        ax.set_ylabel("floor of")
        ax.tick_params(length=0, colors=COLOUR["ink"])
        ax.set_xlim(-0.5, len(names) - 0.5)
        ax.set_ylim(-0.5, len(names) - 0.5)
        for spine in ax.spines.values():
            spine.set_visible(False)

    def _table(self) -> Markup:
        carried = self._others()
        headers = {
            "from_model": "floor of",
            "to_model": "used under",
            "n_answerable": "of answerable",
            "n_off_topic": "of off-topic",
        }
        return table_html(
            carried[[column for column in CARRIED if column in carried]], "Floors under other models", headers=headers
        )

    def _repr_html_(self) -> str:
        own = table_html(_stacked(self.frame()), "Each model's own floor", code=["floor"], note=self._unjudged())
        return f'{style()}<div class="cal cal-tables">{own}</div>{super()._repr_html_()}'


def _cell(ax: "Axes", x: int, y: int, row: dict[str, Any], narrow: bool) -> None:
    """Fill one cell: both counts as text, the share kept as shade, a frame where the floor is the model's own."""
    from matplotlib.patches import Rectangle

    share = row["hits"] / row["n_answerable"] if row["n_answerable"] else 0.0
    corner = (x - 0.48, y - 0.46)
    ax.add_patch(Rectangle(corner, 0.96, 0.92, facecolor=COLOUR["relevant"], alpha=0.06 + 0.4 * share, linewidth=0))
    if row["from_model"] == row["to_model"]:
        ax.add_patch(Rectangle(corner, 0.96, 0.92, fill=False, edgecolor=COLOUR["ink"], linewidth=1.4))
    kept, false = f"{row['hits']:g}/{row['n_answerable']:g}", f"{row['false_answers']:g}/{row['n_off_topic']:g}"
    kept = kept if narrow else f"{kept.replace('/', ' of ')} kept"
    false = f"false {false}" if narrow else f"{false.replace('/', ' of ')} false"
    ax.text(x, y + 0.14, kept, ha="center", va="center", fontweight="bold")
    ax.text(x, y - 0.2, false, ha="center", va="center", fontsize=7.5)


def _carried(row: dict[str, Any]) -> str:
    return f"{short(row['floor'])} of {shorten(row['from_model'])} under {shorten(row['to_model'])}"


def _own(found: Calibration) -> dict[str, object]:
    hit = found.in_sample.rates["hit_rate"]
    held_out = unseen(found)
    kept = None if held_out is None else held_out.rates["hit_rate"]
    false = _false(found)
    return {
        "model": shorten(found.name),
        "floor": "none" if found.floor is None else exact(found.floor),
        "K": found.top_k.value,
        "status": found.status,
        "keeps an answer": out_of(hit),
        "unseen": None if kept is None or kept.value is None else f"{percent(kept.value)} [{interval(kept)}]",
        "false answers": f"{false['false_answers']:g} of {false['n_off_topic']:g}",
        "gap": found.choice.gap.verdict,
        "unjudged in the top-K": None if found.unjudged.value is None else percent(found.unjudged.value),
        "unjudged": out_of(found.unjudged),
    }


def _stacked(own: pd.DataFrame) -> pd.DataFrame:
    """Put what explains a figure under it, so that the table fits a page."""
    rows = [
        {
            "model": Cell(row["model"], False, row["status"]),
            "floor": Cell(row["floor"], True, f"gap {row['gap']}"),
            "K": row["K"],
            "keeps an answer": Cell(row["keeps an answer"], True, f"unseen {row['unseen']}" if row["unseen"] else ""),
            "false answers": row["false answers"],
            "unjudged in the top-K": Cell(row["unjudged in the top-K"] or "–", True, row["unjudged"]),
        }
        for row in records(own)
    ]
    return pd.DataFrame(rows)


def _false(found: Calibration) -> dict[str, float]:
    rates = found.in_sample.rates
    rate = rates["false_answer_rate_off_topic"]
    rate = rate if rate.denominator else rates["false_answer_rate_probes"]
    return {"false_answers": rate.numerator, "n_off_topic": rate.denominator}
