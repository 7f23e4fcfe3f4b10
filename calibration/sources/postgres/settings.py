"""Search settings of pgvector's indexes: their ranges, checked before anything connects."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import ParameterError, listed

Kind = Literal["hnsw", "ivfflat"]
MAX_INT = 2_147_483_647
NUMBERS: dict[str, tuple[str, int, int]] = {
    "ef_search": ("hnsw", 1, 1000),
    "max_scan_tuples": ("hnsw", 1, MAX_INT),
    "scan_mem_multiplier": ("hnsw", 1, 1000),
    "probes": ("ivfflat", 1, 32768),
    "max_probes": ("ivfflat", 1, 32768),
}
"""Setting -> (kind of index, smallest, largest)."""

ITERATIVE: dict[str, tuple[str, ...]] = {
    "hnsw": ("off", "strict_order", "relaxed_order"),
    "ivfflat": ("off", "relaxed_order"),
}
KNOWN = ("kind", "name", *NUMBERS, "iterative_scan")


@dataclass(frozen=True)
class IndexUse:
    """How a search goes through an index.

    Attributes
    ----------
    kind : str or None
        None: whichever index the plan uses.
    name : str or None
        The index that must be used; None: any.
    settings : mapping
        Server setting -> value, as the server spells both.
    """

    kind: Kind | None = None
    name: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def index_use(given: Mapping[str, Any]) -> IndexUse:
    """Check what a contract file says under `index`.

    Raises
    ------
    ParameterError
        Every unknown setting and every value out of range, at once.

    Examples
    --------
    >>> index_use({"ef_search": 100}).settings
    {'hnsw.ef_search': '100'}
    """
    problems = [_unknown(name) for name in given if name not in KNOWN]
    kinds = {NUMBERS[name][0] for name in given if name in NUMBERS}
    stated = given.get("kind")
    if stated is not None and stated not in ITERATIVE:
        problems.append(f"kind is {stated!r}; expected hnsw or ivfflat")
    elif stated is not None and kinds - {stated}:
        problems.append(f"kind is {stated}, but the settings are those of {', '.join(sorted(kinds - {stated}))}")
    elif len(kinds) > 1:
        problems.append("settings of hnsw and of ivfflat together; one search uses one index")
    kind: Any = stated if stated is not None else next(iter(sorted(kinds)), None)
    settings: dict[str, str] = {}
    for name in (name for name in given if name in NUMBERS):
        owner, low, high = NUMBERS[name]
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            problems.append(f"{name} is {value!r}; allowed {low}..{high}")
        settings[f"{owner}.{name}"] = str(value)
    if "iterative_scan" in given:
        problems += _iterative(given["iterative_scan"], kind, settings)
    wanted = given.get("name")
    if wanted is not None and not isinstance(wanted, str):
        problems.append(f"name is {wanted!r}; expected the name of an index")
    if problems:
        raise ParameterError("the index settings cannot be used:\n" + listed(problems))
    return IndexUse(kind, wanted, settings)


def _iterative(value: Any, kind: str | None, settings: dict[str, str]) -> list[str]:
    if kind not in ITERATIVE:
        return ["iterative_scan needs a kind, hnsw or ivfflat"]
    if value not in ITERATIVE[kind]:
        return [f"iterative_scan is {value!r}; allowed for {kind}: {', '.join(ITERATIVE[kind])}"]
    settings[f"{kind}.iterative_scan"] = str(value)
    return []


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, KNOWN, n=1)
    return f"unknown setting {name!r}" + (f" (did you mean {close[0]!r}?)" if close else f"; known: {', '.join(KNOWN)}")
