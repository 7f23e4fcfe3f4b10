"""Raw scores as test suites have them, and what a contract makes of them."""

from collections.abc import Mapping

import numpy as np

from ..contract import ScoreContract

RawScores = Mapping[str, Mapping[str, float | None]]
"""query -> document -> raw score; None is "not scored"."""


def check_same_queries(old: RawScores, new: RawScores) -> None:
    """Fail unless both sides hold the same queries, and at least one."""
    if not old and not new:
        raise AssertionError("there are no queries on either side, so nothing was compared.")
    one_sided = sorted(set(old) ^ set(new), key=repr)
    if one_sided:
        raise AssertionError(f"{len(one_sided)} queries are on one side only: {shown_names(one_sided)}.")


def check_scored(old: RawScores, new: RawScores) -> None:
    """Fail where a side has no score at all: what agrees then was not compared."""
    for side, scores in (("old", old), ("new", new)):
        found = [value for documents in scores.values() for value in documents.values()]
        if not any(value is not None and np.isfinite(value) for value in found):
            raise AssertionError(
                f"no document has a score on the {side} side ({len(scores)} queries, {len(found)} documents), so "
                "nothing was compared."
            )


def similarities(scores: Mapping[str, float | None], contract: ScoreContract) -> dict[str, float]:
    """Similarity of each document, higher is better; NaN is "not scored".

    Examples
    --------
    >>> similarities({"A": 0.25, "B": None}, ScoreContract("cosine_distance"))
    {'A': 0.75, 'B': nan}
    """
    raw = np.array([np.nan if value is None else value for value in scores.values()], dtype=np.float64)
    raw[~np.isfinite(raw)] = np.nan
    return dict(zip(scores, contract.similarity(raw).tolist(), strict=True))


def shown_names(names: list[str], limit: int = 5) -> str:
    """Quote the first few names.

    Examples
    --------
    >>> shown_names(["a", "b"], limit=1)
    "'a', …"
    """
    return ", ".join(map(repr, names[:limit])) + (", …" if len(names) > limit else "")


def shown(score: float | None) -> str:
    """Write a raw score."""
    return "not scored" if score is None or not np.isfinite(score) else f"{score:.9g}"
