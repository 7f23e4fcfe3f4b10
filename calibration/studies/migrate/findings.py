"""What the reader of a migration must know, in sentences: rules that differ, corpora that differ, rows left out."""

from collections import Counter
from collections.abc import Sequence

from ...contract import Converted
from ...sources.base import SHOWN_IDS, counted
from .side import Side


def findings(
    old: Side, new: Side, conversion: Converted | None, refused: str | None, moved: Sequence[str]
) -> tuple[str, ...]:
    """Give everything but the flips themselves."""
    return (*_rule_findings(old, new, conversion, refused), *_corpus_findings(old, new, moved))


def _rule_findings(old: Side, new: Side, conversion: Converted | None, refused: str | None) -> Sequence[str]:
    found = []
    if refused is not None:
        found.append(f"The old threshold cannot be converted: {refused.rstrip('.')}. The new one is compared as it is.")
    tolerance = max(old.file.contract.tolerance, new.file.contract.tolerance)
    if conversion is not None and old.contract.scale == new.contract.scale and abs(new.floor - old.floor) > tolerance:
        found.append(
            f"The new threshold is {new.threshold!r}; the old rule, {old.threshold!r} on {old.file.contract.metric}, "
            f"is {conversion.comparison} {conversion.value!r} on {new.file.contract.metric}."
        )
    if old.file.contract.threshold_inclusive != new.file.contract.threshold_inclusive:
        found.append("One rule is inclusive, the other strict: documents exactly at the threshold flip.")
    if old.k != new.k:
        found.append(f"The cap differs: top-K {old.k}, then {new.k}.")
    filters = [side.searcher.describe().get("filter") for side in (old, new)]
    if filters[0] != filters[1]:
        shown = ", then ".join("none" if one is None else repr(one) for one in filters)
        found.append(f"The filters differ: {shown}.")
    for name, side in (("old", old), ("new", new)):
        if side.rounding > side.file.contract.tolerance:
            found.append(
                f"The {name} contract's tolerance is {side.file.contract.tolerance:g}, but its column's storage moves "
                f"a similarity by up to {side.rounding:.2g}: write that into the contract."
            )
    return found


def same_corpus(old: Side, new: Side) -> bool:
    """Tell whether both sides hold the same documents with the same numbers."""
    return old.snapshot is not None and new.snapshot is not None and old.snapshot.digest == new.snapshot.digest


def _corpus_findings(old: Side, new: Side, moved: Sequence[str]) -> Sequence[str]:
    found = [] if same_corpus(old, new) else _differences(old, new, moved)
    for name, side in (("old", old), ("new", new)):
        if side.left_out:
            reasons = Counter(side.left_out.values())
            parts = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
            found.append(f"{counted(len(side.left_out), 'row')} cannot be indexed on the {name} side: {parts}.")
    return found


def _differences(old: Side, new: Side, moved: Sequence[str]) -> list[str]:
    if old.snapshot is None or new.snapshot is None:
        return []
    ids = {"old": set(old.snapshot.ids), "new": set(new.snapshot.ids)}
    found = []
    for name, other in (("old", "new"), ("new", "old")):
        only = sorted(ids[name] - ids[other])
        if only:
            shown = ", ".join(only[:SHOWN_IDS]) + (" and more" if len(only) > SHOWN_IDS else "")
            found.append(f"The corpora differ: {counted(len(only), 'document')} on the {name} side only: {shown}.")
    if moved:
        found.append(f"The corpora differ: the vectors of {counted(len(moved), 'document')}, first {moved[0]}.")
    if not found:
        found.append("Both sides hold the same documents and directions, at another precision or length.")
    return found
