"""The accepted sets of two rules, compared document by document."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..contract import Decision, ScoreContract, check_threshold
from ..errors import ParameterError, listed
from .scores import RawScores, check_same_queries, check_scored, shown, similarities


@dataclass(frozen=True)
class Rule:
    """A raw threshold on a contract, and a limit."""

    contract: ScoreContract
    threshold: float | None
    top_k: int | None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_threshold(self.threshold, self.contract)
        if self.top_k is not None and (not isinstance(self.top_k, int | np.integer) or self.top_k < 1):
            raise ParameterError(f"top_k is {self.top_k!r}, expected a whole number from 1 on, or None for no limit.")

    @property
    def floor(self) -> float | None:
        """The threshold as a similarity."""
        return None if self.threshold is None else self.contract.similarity_of(self.threshold)

    def __str__(self) -> str:
        return "no threshold" if self.threshold is None else f"{self.contract.comparison} {self.threshold!r}"


@dataclass(frozen=True)
class Outcome:
    """What a rule makes of one query's documents.

    Attributes
    ----------
    similarity : dict
        NaN is "not scored".
    passing : list of str
        Documents that pass the floor, best first.
    accepted : set of str
        Those within top_k, and the unscored ones where the contract keeps them.
    """

    rule: Rule
    similarity: dict[str, float]
    passing: list[str]
    accepted: set[str]

    def on_boundary(self, document: str, reach: float) -> bool:
        """Tell whether a document lies within `reach` of the floor, or of the last place that top_k leaves."""
        value, edges = self.similarity[document], [self.rule.floor]
        if self.cuts():
            edges.append(self.similarity[self.passing[(self.rule.top_k or 1) - 1]])
        return any(edge is not None and abs(value - edge) <= reach for edge in edges)

    def cuts(self) -> bool:
        """Tell whether more documents pass the floor than top_k lets through."""
        return self.rule.top_k is not None and len(self.passing) > self.rule.top_k


def assert_same_accepted(
    old_scores: RawScores,
    old_contract: ScoreContract,
    old_threshold: float | None,
    new_scores: RawScores,
    new_contract: ScoreContract,
    new_threshold: float | None,
    top_k: int | None = None,
    *,
    allow_boundary: bool = False,
) -> None:
    """Assert that both sides accept the same documents for every query.

    Each threshold is raw, in its own contract's units; None is no threshold. Documents that only one side accepts are
    named with their class, the first that applies:

    absent : the other side has no such candidate;
    not scored : one side has no score for it;
    boundary : on both sides within twice the tolerance of the floor, or of the last place within top_k;
    rank : it passes both floors, and one side cuts it by top_k;
    conversion : the rules differ.

    Parameters
    ----------
    allow_boundary : bool
        Whether differences of class "boundary" pass.

    Raises
    ------
    AssertionError
        Some differ; queries and documents are named. Or there is nothing to compare: other queries, or no score.
    ContractError
        A threshold or a score is none of its contract.
    ParameterError
        `top_k` lets nothing through.

    Examples
    --------
    >>> old, new = {"q": {"A": 0.9, "B": 0.7}}, {"q": {"A": 0.2, "B": 0.6}}
    >>> assert_same_accepted(old, ScoreContract(), 0.8, new, ScoreContract("squared_l2"), 0.4)
    >>> assert_same_accepted(old, ScoreContract(), 0.8, new, ScoreContract("squared_l2"), 0.8)
    Traceback (most recent call last):
    AssertionError: the accepted sets differ for 1 of 1 queries (1 conversion):
      - query 'q', document 'B': accepted on the new side only, conversion (0.7 against >= 0.8, 0.6 against <= 0.8)
    """
    check_same_queries(old_scores, new_scores)
    rules = Rule(old_contract, old_threshold, top_k), Rule(new_contract, new_threshold, top_k)
    lines: list[str] = []
    kinds: Counter[str] = Counter()
    queries: set[str] = set()
    for query in old_scores:
        old, new = outcome(rules[0], old_scores[query]), outcome(rules[1], new_scores[query])
        for document in sorted(old.accepted ^ new.accepted, key=repr):
            kind = difference(document, old, new)
            if kind == "boundary" and allow_boundary:
                continue
            side = "old" if document in old.accepted else "new"
            values = [_found(document, scores[query]) for scores in (old_scores, new_scores)]
            lines.append(
                f"query {query!r}, document {document!r}: accepted on the {side} side only, {kind} "
                f"({values[0]} against {rules[0]}, {values[1]} against {rules[1]})"
            )
            kinds[kind] += 1
            queries.add(query)
    if lines:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        raise AssertionError(
            f"the accepted sets differ for {len(queries)} of {len(old_scores)} queries ({counts}):\n{listed(lines)}"
        )
    check_scored(old_scores, new_scores)


def outcome(rule: Rule, scores: Mapping[str, float | None]) -> Outcome:
    """Apply a rule to one query's raw scores; equal similarities are taken in the order of their names."""
    similarity = similarities(scores, rule.contract)
    decisions = rule.contract.decide(list(similarity.values()), rule.floor)
    passing = [name for name, found in zip(similarity, decisions, strict=True) if found == Decision.ACCEPTED]
    passing.sort(key=lambda name: (-similarity[name], repr(name)))
    accepted = set(passing[: rule.top_k])
    if rule.contract.unscored == "keep":
        accepted |= {name for name, value in similarity.items() if np.isnan(value)}
    return Outcome(rule, similarity, passing, accepted)


def difference(document: str, old: Outcome, new: Outcome) -> str:
    """Class of a document that one side only accepts: absent, not scored, boundary, rank or conversion."""
    if document not in old.similarity or document not in new.similarity:
        return "absent"
    if np.isnan(old.similarity[document]) or np.isnan(new.similarity[document]):
        return "not scored"
    contracts = old.rule.contract, new.rule.contract
    reaches = [2.0 * contract.tolerance for contract in contracts]
    if all(contract.on_cosine_scale for contract in contracts):
        # one scale, so the coarser side's rounding blurs the other's boundary as well
        reaches = [max(reaches)] * 2
    if old.on_boundary(document, reaches[0]) and new.on_boundary(document, reaches[1]):
        return "boundary"
    return "rank" if document in old.passing and document in new.passing else "conversion"


def _found(document: str, scores: Mapping[str, float | None]) -> str:
    return shown(scores[document]) if document in scores else "absent"
