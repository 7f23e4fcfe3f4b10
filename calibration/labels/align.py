"""What a new passage holds of an old one, word by word."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from .shingles import WIDTH, ShingledCorpus, Weights, token_weights

Mask = npt.NDArray[np.bool_]

RUN = 8
"""Tokens of the shortest run that counts as common: shorter ones are phrases that any two texts may share."""

EDIT = 4
"""Tokens between two runs up to which the shorter one counts all the same: a small edit has cut it off."""

BETTER = 0.2
"""How much better others must agree with the old text to take from a passage what they hold as well."""

HELD_ELSEWHERE = 0.8
"""Share of what a passage holds that must be held by those others."""


@dataclass(frozen=True, eq=False)
class Part:
    """One new passage, seen from an old one.

    Attributes
    ----------
    row : int
        Of the new corpus.
    held : ndarray of bool
        Which tokens of the old passage it holds.
    replaced : ndarray of bool
        Which tokens of the old passage it says in other words, between words that agree.
    filled : ndarray of bool
        Which of its own tokens come from the old passage.
    own : float
        Weighted share of it that comes from the old passage.
    agreement : float
        Weighted share of agreement where both texts go on; 1 when one merely begins or ends where the other does not.
    """

    row: int
    held: Mask
    replaced: Mask
    filled: Mask
    own: float
    agreement: float


def aligned(old: ShingledCorpus, old_row: int, old_weights: Weights, new: ShingledCorpus, row: int) -> Part | None:
    """Align one old passage with one new one; None when they have no run of words in common."""
    weights = token_weights(new.shingles[row], len(new.tokens[row]), old, new)
    before, after = len(old_weights), len(weights)
    blocks = _blocks(old, old_row, new, row)
    if not blocks:
        return None
    held, replaced, filled = (np.zeros(size, dtype=np.bool_) for size in (before, before, after))
    differing = 0.0
    end_old = end_new = 0
    for start_old, start_new, length in [*blocks, (before, after, 0)]:
        gap_old, gap_new = start_old - end_old, start_new - end_new
        if gap_old > 0 and gap_new > 0:
            differing += min(old_weights[end_old:start_old].sum(), weights[end_new:start_new].sum())
            inner = end_old > 0 and length > 0
            if inner and max(gap_old, gap_new) <= 2 * min(gap_old, gap_new) + 2:
                replaced[end_old:start_old] = True
        held[start_old : start_old + length] = True
        filled[start_new : start_new + length] = True
        end_old, end_new = start_old + length, start_new + length
    common = float(old_weights[held].sum())
    return Part(
        row, held, replaced, filled, float(weights[filled].sum() / weights.sum()), common / (common + differing)
    )


def whole(tokens: int, row: int) -> Part:
    """Make the part of a new passage whose tokens are those of the old one."""
    every = np.ones(tokens, dtype=np.bool_)
    return Part(row, every, np.zeros(tokens, dtype=np.bool_), every, 1.0, 1.0)


def without_lookalikes(parts: Sequence[Part], weights: Weights) -> list[Part]:
    """Leave out passages that resemble the old one where others are the old one.

    Two editions of one text share most sentences. A passage gives way when others that agree better keep the old
    wording where it has another, or hold nearly all it holds and agree much better.
    """
    kept: list[Part] = []
    for part in sorted(parts, key=lambda one: -one.agreement):
        better = [other for other in kept if other.agreement > part.agreement]
        kept_elsewhere = union(better, len(weights))
        reworded = weights[part.replaced].sum()
        if reworded > 0 and weights[part.replaced & kept_elsewhere].sum() > reworded / 2:
            continue
        much_better = union([other for other in better if other.agreement >= part.agreement + BETTER], len(weights))
        if weights[part.held & much_better].sum() >= HELD_ELSEWHERE * weights[part.held].sum():
            continue
        kept.append(part)
    return sorted(kept, key=lambda one: one.row)


def union(parts: Sequence[Part], tokens: int) -> Mask:
    """Tokens of the old passage that any of the parts holds."""
    held = np.zeros(tokens, dtype=np.bool_)
    for part in parts:
        held |= part.held
    return held


def _blocks(old: ShingledCorpus, old_row: int, new: ShingledCorpus, row: int) -> list[tuple[int, int, int]]:
    """List the runs in common, in the order of both texts: start in the old one, start in the new one, tokens."""
    first, second = old.shingles[old_row].tolist(), new.shingles[row].tolist()
    matching = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    runs = [(a, b, size + WIDTH - 1) for a, b, size in matching if size > 0]
    shortest = min(RUN, len(first) + WIDTH - 1, len(second) + WIDTH - 1)
    certain = [run for run in runs if run[2] >= shortest]
    found = []
    end_old = end_new = 0
    for start_old, start_new, length in runs:
        run = (start_old, start_new, length)
        # runs found one after the other may share their edge tokens, which belong to the first
        shared = max(end_old - start_old, end_new - start_new, 0)
        if shared < length and (length >= shortest or any(_beside(run, other) for other in certain)):
            found.append((start_old + shared, start_new + shared, length - shared))
            end_old, end_new = start_old + length, start_new + length
    return found


def _beside(run: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Tell whether only a word or two lie between two runs, in both texts: what an edit leaves of a longer run."""
    first, second = sorted((run, other))
    gaps = (second[0] - first[0] - first[2], second[1] - first[1] - first[2])
    return max(gaps) <= EDIT
