"""Several models side by side: each has its own floor, and none carries."""

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import FigureDisplay, style, unseen
from .palette import COLOUR
from .tables import table_html
from .texts import exact, interval, out_of, percent, short, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        missed = (
            carried.assign(share=(carried["n_answerable"] - carried["hits"]) / carried["n_answerable"])
            .nlargest(1, "share")
            .iloc[0]
        )
        false = carried.assign(share=carried["false_answers"] / carried["n_off_topic"]).nlargest(1, "share").iloc[0]
        return (
            f"Each row is one model's floor, each column the model it is used under. {_carried(missed)} keeps {missed['hits']} of "
            f"{missed['n_answerable']} answers; {_carried(false)} answers {false['false_answers']} of {false['n_off_topic']} off-topic queries. "
            "A floor belongs to one model."
        )

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Matrix of answers kept when the floor of one of {len(self.comparison.calibrations)} models is used under another. {self.caption}"

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

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        from matplotlib.patches import Rectangle

        names = self._names()
        for row in self._cells().itertuples():
            if row.from_model not in names or row.to_model not in names:
                continue
            x, y = names.index(row.to_model), len(names) - 1 - names.index(row.from_model)
            kept = row.hits / row.n_answerable if row.n_answerable else np.nan
            own = row.from_model == row.to_model
            ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=COLOUR["relevant"], alpha=0.0 if np.isnan(kept) else 0.06 + 0.4 * kept,
                                   linewidth=0))  # fmt: skip
            if own:
                ax.add_patch(
                    Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, fill=False, edgecolor=COLOUR["ink"], linewidth=1.4)
                )
            ax.text(
                x,
                y + 0.14,
                f"{row.hits:g} of {row.n_answerable:g} kept" if not narrow else f"{row.hits:g}/{row.n_answerable:g}",
                ha="center",
                va="center",
                fontweight="bold",
                fontsize=9,
            )
            ax.text(x, y - 0.2, f"{row.false_answers:g} of {row.n_off_topic:g} false" if not narrow else f"false {row.false_answers:g}/{row.n_off_topic:g}",
                    ha="center", va="center", fontsize=7.5, color=COLOUR["ink"])  # fmt: skip
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
        columns = [
            "from_model",
            "to_model",
            "floor",
            "hits",
            "n_answerable",
            "empty",
            "false_answers",
            "n_off_topic",
            "verdict",
        ]
        carried = self._others()
        headers = {
            "from_model": "floor of",
            "to_model": "used under",
            "n_answerable": "of answerable",
            "n_off_topic": "of off-topic",
        }
        return table_html(
            carried[[column for column in columns if column in carried]], "Floors under other models", headers=headers
        )

    def _repr_html_(self) -> str:
        own = table_html(self.frame(), "Each model's own floor", code=["floor"])
        return f'{style()}<div class="cal cal-tables">{own}</div>{super()._repr_html_()}'


def _carried(row: pd.Series) -> str:
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
    }


def _false(found: Calibration) -> dict[str, float]:
    rates = found.in_sample.rates
    rate = rates["false_answer_rate_off_topic"]
    rate = rate if rate.denominator else rates["false_answer_rate_probes"]
    return {"false_answers": rate.numerator, "n_off_topic": rate.denominator}


class ModelBandsDisplay(FigureDisplay):
    """Relevant and far-noise ranges of every model on one axis: why a number like 0.78 does not carry."""

    title = "Ranges by model"

    def __init__(self, comparison: Compared) -> None:
        self.comparison = comparison

    def frame(self) -> pd.DataFrame:
        """One row per model and band: model, band, n, p05, p50, p95, floor."""
        rows = []
        for found in self.comparison.calibrations:
            for name in ("best_relevant", "far_noise"):
                summary = found.bands[name].summary()
                rows.append({"model": found.name, "band": name.replace("_", " "), "n": summary["n"], "p05": summary["p05"], "p50": summary["p50"],
                             "p95": summary["p95"], "floor": found.floor})  # fmt: skip
        return pd.DataFrame(rows).astype({"p05": "float64", "p50": "float64", "p95": "float64", "floor": "float64"})

    @property
    def caption(self) -> str:
        """Where the floors lie."""
        floors = [(found.name, found.floor) for found in self.comparison.calibrations if found.floor is not None]
        if not floors:
            return "No model's labels support a floor."
        said = ", ".join(f"{shorten(name)} {short(floor)}" for name, floor in floors)
        return f"Floors: {said}. Bars span the middle 90% of each band, the tick is the median; the same similarity means something else under each model."

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Ranges of best relevant and far-noise similarity for {len(self.comparison.calibrations)} models on one axis. {self.caption}"

    def _height(self, *, narrow: bool) -> float:
        return 0.9 + 0.72 * max(len(self.comparison.calibrations), 1)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        models = self.comparison.calibrations
        ax.grid(axis="x")
        for place, found in enumerate(models):
            base = len(models) - 1 - place
            for name, offset, colour in (("best_relevant", 0.14, "relevant"), ("far_noise", -0.14, "far")):
                _bar(
                    ax,
                    found.bands[name].scored,
                    base + offset,
                    COLOUR[colour],
                    name.replace("_", " ") if place == 0 else "",
                )
            if found.floor is not None:
                ax.plot([found.floor, found.floor], [base - 0.32, base + 0.32], color=COLOUR["ink"], linewidth=2)
                ax.annotate(
                    f"floor {short(found.floor)}", (found.floor, base + 0.34), ha="center", va="bottom", fontsize=7.5
                )
        ax.set_yticks(range(len(models)), [shorten(found.name, 12 if narrow else 24) for found in reversed(models)])
        ax.tick_params(axis="y", length=0, colors=COLOUR["ink"])
        ax.set_ylim(-0.5, len(models) - 0.3)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("similarity")

    def _table(self) -> Markup:
        return table_html(self.frame(), self.title)


def _bar(ax: "Axes", values: np.ndarray, y: float, colour: str, label: str) -> None:
    if len(values) == 0:
        return
    low, middle, high = (float(value) for value in np.quantile(values, [0.05, 0.5, 0.95]))
    ax.plot([low, high], [y, y], color=colour, linewidth=6, alpha=0.55, solid_capstyle="butt")
    ax.plot([middle, middle], [y - 0.09, y + 0.09], color=colour, linewidth=2)
    if label:
        ax.annotate(
            label,
            (middle, y + (0.12 if y % 1 < 0.5 else -0.12)),
            ha="center",
            va="bottom" if y % 1 < 0.5 else "top",
            color=colour,
            fontsize=8,
        )
