"""The floor in the units of each consumer, unrounded, with the comparison that accepts."""

import pandas as pd
from markupsafe import Markup

from ..contract import conversions, described
from ..result.deploy import deployed_sql, is_clear
from ..studies.model import Calibration
from .base import TableDisplay
from .tables import folded, table_html
from .texts import exact, records

WHERE = {
    "cosine_similarity": "LangChain score_threshold, LlamaIndex similarity_cutoff, Haystack (cosine), 1 - (a <=> b)",
    "cosine_distance": "pgvector <=>, Chroma (cosine)",
    "l2": "pgvector <->, unit vectors",
    "squared_l2": "Faiss L2, Chroma (l2), unit vectors",
    "inner_product": "Faiss inner product, unit vectors",
    "negative_inner_product": "pgvector <#>, unit vectors",
}


class ConversionsDisplay(TableDisplay):
    """What to write where, so that the same passages are accepted everywhere."""

    title = "The floor in other units"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return metric, operator, value (unrounded); empty without a floor."""
        floor = self.calibration.floor
        rows = [] if floor is None else conversions(floor, self.calibration.scores.contract)
        return pd.DataFrame(rows, columns=["metric", "operator", "value"])

    @property
    def caption(self) -> str:
        """Which comparison accepts."""
        found = self.calibration
        if found.floor is None:
            return (
                f"There is no floor to deploy: take the {found.top_k.value} best passages (LIMIT {found.top_k.value})."
            )
        kind = "at or above" if found.scores.contract.threshold_inclusive else "above"
        near = found.scores.contract.tolerance
        exactness = (
            f" No observed similarity lies within {near:g} of it, so rounding decides nothing."
            if is_clear(found)
            else ""
        )
        return (
            f"A passage is accepted {kind} {exact(found.floor)} on {found.scores.contract.scale}. Copy the number "
            f"unrounded and mind the direction: a distance accepts below its floor.{exactness}"
        )

    def sql(self) -> str | None:
        """Give a pgvector query that uses the index and accepts the same passages; None where no operator applies."""
        return deployed_sql(self.calibration)

    def _found_in(self, metric: str) -> str:
        contract = self.calibration.scores.contract
        if metric == described(contract) and (contract.score_transform != "none" or metric not in WHERE):
            return "the scores that were calibrated"
        # on a scale of its own, the floor holds for the vectors as they are
        return WHERE[metric] if contract.on_cosine_scale else WHERE[metric].removesuffix(", unit vectors")

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if len(frame) == 0:
            return []
        shown = pd.DataFrame(
            {
                "metric": frame["metric"].str.replace("_", " "),
                "accept when": [f"{row['operator']} {exact(row['value'])}" for row in records(frame)],
                "found in": [self._found_in(metric) for metric in frame["metric"]],
            }
        )
        return [folded(self.title, table_html(shown, self.title, code=["accept when"]))]
