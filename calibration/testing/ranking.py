"""The order of documents under two contracts."""

import numpy as np

from ..contract import ScoreContract
from ..errors import listed
from .scores import RawScores, check_same_queries, check_scored, shown, shown_names, similarities


def assert_same_ranking(
    old_scores: RawScores, old_contract: ScoreContract, new_scores: RawScores, new_contract: ScoreContract
) -> None:
    """Assert that both sides order the same documents alike for every query; ties within tolerance are no difference.

    Raises
    ------
    AssertionError
        Two documents stand one way round on the old side and the other way round on the new one, each time by more than
        the side's tolerance; or a document is scored on one side only. Or there is nothing to compare: other queries,
        or no score.

    Examples
    --------
    >>> old, new = {"q": {"A": 0.9, "long": 7.0}}, {"q": {"A": 0.9, "long": 0.7}}
    >>> assert_same_ranking(old, ScoreContract("inner_product", normalisation="none"), new, ScoreContract())
    Traceback (most recent call last):
    AssertionError: the rankings differ for 1 of 1 queries:
      - query 'q': 'long' before 'A' on the old side (7, 0.9), behind it on the new side (0.7, 0.9)
    """
    check_same_queries(old_scores, new_scores)
    lines = []
    for query in old_scores:
        old = _scored(similarities(old_scores[query], old_contract))
        new = _scored(similarities(new_scores[query], new_contract))
        one_sided = sorted(set(old) ^ set(new), key=repr)
        if one_sided:
            lines.append(f"query {query!r}: scored on one side only: {shown_names(one_sided)}")
            continue
        pair = turned(old, new, old_contract.tolerance, new_contract.tolerance)
        if pair is not None:
            values = [", ".join(shown(scores[query][name]) for name in pair) for scores in (old_scores, new_scores)]
            lines.append(
                f"query {query!r}: {pair[0]!r} before {pair[1]!r} on the old side ({values[0]}), behind it on the new "
                f"side ({values[1]})"
            )
    if lines:
        raise AssertionError(f"the rankings differ for {len(lines)} of {len(old_scores)} queries:\n{listed(lines)}")
    check_scored(old_scores, new_scores)


def turned(
    old: dict[str, float], new: dict[str, float], old_tolerance: float, new_tolerance: float
) -> tuple[str, str] | None:
    """Find two documents whose order differs by more than the tolerances; None where there are none.

    Examples
    --------
    >>> turned({"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 2.0, "b": 2.5, "c": 1.0}, 0.1, 0.1)
    ('a', 'b')
    """
    names = sorted(old, key=lambda name: (-old[name], repr(name)))
    olds = np.array([old[name] for name in names], dtype=np.float64)
    news = np.array([new[name] for name in names], dtype=np.float64)
    # for each document: how many stand clearly before it on the old side, and the worst of those on the new one
    before = np.searchsorted(-olds, -(olds + old_tolerance), side="left")
    worst = np.minimum.accumulate(news) if len(news) else news
    wrong = [place for place, count in enumerate(before) if count and worst[count - 1] < news[place] - new_tolerance]
    if not wrong:
        return None
    place = wrong[0]
    return names[int(np.argmin(news[: before[place]]))], names[place]


def _scored(found: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in found.items() if not np.isnan(value)}
