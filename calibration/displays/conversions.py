"""The floor in the units of each consumer, unrounded, with the comparison that accepts."""

import pandas as pd
from markupsafe import Markup

from ..contract import conversions
from ..studies.model import Calibration
from .base import TableDisplay, style
from .tables import table_html, templates
from .texts import exact, records

WHERE = {
    "cosine_similarity": "LangChain score_threshold, LlamaIndex similarity_cutoff, Haystack (cosine), 1 - (a <=> b)",
    "cosine_distance": "pgvector <=>, Chroma (cosine)",
    "l2": "pgvector <->, unit vectors",
    "squared_l2": "Faiss L2, Chroma (l2), unit vectors",
    "inner_product": "Faiss inner product, unit vectors",
    "negative_inner_product": "pgvector <#>, unit vectors",
}
OPERATOR = {
    "cosine_distance": "<=>",
    "cosine_similarity": "<=>",
    "l2": "<->",
    "squared_l2": "<->",
    "inner_product": "<#>",
    "negative_inner_product": "<#>",
}
BY_OPERATOR = {"<=>": "cosine_distance", "<->": "l2", "<#>": "negative_inner_product"}


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
            f" No observed similarity lies within {near:g} of it, so rounding decides nothing." if self._clear() else ""
        )
        return (
            f"A passage is accepted {kind} {exact(found.floor)} on {found.scores.contract.scale}. Copy the number "
            f"unrounded and mind the direction: a distance accepts below its floor.{exactness}"
        )

    def sql(self) -> str | None:
        """Give a pgvector query that uses the index and accepts the same passages; None where no operator applies."""
        found = self.calibration
        contract, params = found.scores.contract, found.params
        operator = OPERATOR.get(contract.metric)
        if operator is None or not contract.on_cosine_scale:
            return None
        vector, table = _quoted(params.vector_column), _quoted(params.table or "passages")
        key = _quoted(params.id_column)
        order = f"{vector} {operator} $1"
        # a zero vector has no cosine: its distance is NaN, which sorts and compares as the largest number in PostgreSQL
        inner = (
            f"SELECT {key}, {order} AS distance\n    FROM {table}\n"  # noqa: S608 - shown, never run; names are quoted
            f"    WHERE vector_norm({vector}) > 0\n    ORDER BY {order}\n    LIMIT {found.top_k.value}"
        )
        if found.floor is None:
            return inner.replace("\n    ", "\n") + ";"
        rows = {row["metric"]: row for row in conversions(found.floor, contract)}
        limit = rows.get(BY_OPERATOR[operator])
        if limit is None:
            return None
        return (
            f"SELECT {key}, distance\nFROM (\n    {inner}\n) AS nearest\n"
            f"WHERE distance {limit['operator']} {exact(limit['value'])}\nORDER BY distance;"
        )

    def _clear(self) -> bool:
        return not bool(self.calibration.in_sample.queries["boundary"].any())

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if len(frame) == 0:
            return []
        shown = pd.DataFrame(
            {
                "metric": frame["metric"].str.replace("_", " "),
                "accept when": [f"{row['operator']} {exact(row['value'])}" for row in records(frame)],
                "found in": frame["metric"].map(WHERE),
            }
        )
        return [table_html(shown, self.title, code=["accept when"])]

    def _repr_html_(self) -> str:
        return (
            templates()
            .get_template("conversions.html")
            .render(style=style(), lead=self.caption, tables=self._tables(), sql=self.sql())
        )


def _quoted(name: str) -> str:
    """Quote a name for SQL; a plain lower-case one stays as it is."""
    parts = name.split(".")
    plain = all(part.isidentifier() and part.isascii() and part == part.lower() for part in parts)
    return name if plain else ".".join('"' + part.replace('"', '""') + '"' for part in parts)
