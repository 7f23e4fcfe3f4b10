"""What each option has to be given and kept: its floors, the labels behind them, and its time."""

import pandas as pd
from markupsafe import Markup

from ..studies.options.study import Options
from ..studies.options.verdicts import milliseconds
from .base import TableDisplay
from .tables import table_html
from .texts import exact, shorten


class OptionUpkeepDisplay(TableDisplay):
    """Floors to deploy, each on the scale of its own score, and what an option needs."""

    title = "Floors to deploy"

    def __init__(self, options: Options) -> None:
        self.options = options

    def frame(self) -> pd.DataFrame:
        """One row per floor: option, signal, context, floor, metric, status."""
        rows = [
            {
                "option": one.title,
                "signal": threshold.signal,
                "context": threshold.context,
                "floor": threshold.value,
                "metric": threshold.contract.metric,
                "status": threshold.status,
            }
            for one in self.options.options
            for threshold in one.thresholds
        ]
        return pd.DataFrame(rows, columns=["option", "signal", "context", "floor", "metric", "status"])

    @property
    def caption(self) -> str:
        """How many numbers there are."""
        counts = [f"{one.title} {len(one.thresholds)}" for one in self.options.measured]
        return (
            f"Floors to maintain: {', '.join(counts)}. Each floor lives on its own score and is "
            "stale when model, chunking, corpus, reranker or word configuration change."
        )

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        shown = frame.assign(floor=[exact(value) for value in frame["floor"]])
        if frame["context"].isna().all():
            shown = shown.drop(columns="context")
        else:
            shown = shown.assign(
                context=["every query" if pd.isna(name) else shorten(name) for name in frame["context"]]
            )
        tables = [table_html(shown, self.title, code=["floor"])] if len(frame) else []
        return [*tables, self._needs()]

    def _needs(self) -> Markup:
        rows = [
            {
                "option": one.title,
                "answerable": one.labels.answerable,
                "off-topic": one.labels.off_topic,
                "added latency": "–" if one.latency is None else milliseconds(one.latency.median),
                "note": one.missing or one.note or "–",
            }
            for one in self.options.options
        ]
        params = self.options.params
        said = [
            f"Answerable queries: before {params.target:.0%} can be certified with {params.confidence:.0%} confidence, "
            "none missed. Off-topic ones: to choose floors; the bundled probes will do."
        ]
        said += [
            f"{one.title.capitalize()} was timed {one.latency.n} times: {one.latency.what}."
            for one in self.options.measured
            if one.latency is not None and one.latency.n
        ]
        return table_html(pd.DataFrame(rows), "What each option needs", note=" ".join(said))
