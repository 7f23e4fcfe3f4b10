"""The line of SQL or Python that applies a raw threshold."""

from .model import ScoreContract

SQL = {
    "cosine_similarity": "1 - (embedding <=> $1)",
    "cosine_distance": "embedding <=> $1",
    "l2": "embedding <-> $1",
    "inner_product": "-(embedding <#> $1)",
    "negative_inner_product": "embedding <#> $1",
}
"""Metric -> its value in pgvector. Squared L2 is what Faiss returns; pgvector has none."""


def snippet(contract: ScoreContract, comparison: str, value: float) -> str:
    """Write the line that accepts by a raw threshold: SQL for pgvector's metrics, Python for the others.

    A zero vector has no direction: its cosine distance is NaN, which PostgreSQL takes for the largest number, so
    `1 - NaN >= 0.8` is true there, and its other distances stand for no cosine. Where the scale is a cosine, the SQL
    leaves such rows out; the cast is for halfvec, which has no `vector_norm` of its own.

    Examples
    --------
    >>> snippet(ScoreContract("cosine_distance"), "<=", 0.2)
    'WHERE vector_norm(embedding::vector) > 0 AND embedding <=> $1 <= 0.2'
    >>> snippet(ScoreContract(score_transform="(1+cos)/2"), ">=", 0.85)
    'accepted = [hit for hit in hits if hit.score >= 0.85]'
    """
    operand = SQL.get(contract.metric) if contract.score_transform == "none" else None
    if operand is not None:
        guard = "vector_norm(embedding::vector) > 0 AND " if contract.on_cosine_scale else ""
        return f"WHERE {guard}{operand} {comparison} {value!r}"
    plain_squared = contract.metric == "squared_l2" and contract.score_transform == "none"
    note = "  # Faiss METRIC_L2 is squared" if plain_squared else ""
    return f"accepted = [hit for hit in hits if hit.score {comparison} {value!r}]{note}"
