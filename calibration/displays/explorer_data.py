"""What the explorer computes on: per query the top similarities and their states, in little space and without texts."""

import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from ..choose.rates import CONFIDENCE
from ..scores import judged_top
from ..studies.model import Calibration
from .rates import NAMES
from .texts import shorten

MOST_QUERIES = 5_000
"""More are thinned evenly, and the page says so."""
STOPS = 200
"""About as many positions has the slider of floors, besides the recommended and the old one."""
ID, TEXT = 60, 160
"""Longest query id and query text in the page."""
CLASSES = {"answerable": "a", "off_topic": "o", "missing_answer": "m", "unknown": "u"}
PROBE = "p"
STATES = {"relevant": "+", "noise": "-", "unjudged": "."}
_NOT_IN_PAGE = ("recall_macro",)
_NEEDED = {
    "hit_rate": "a", "empty_context_rate": "a", "precision_judged": "a", "precision_low": "a", "unjudged_share": "a",
    "recall_micro": "a", "false_answer_rate_off_topic": "o", "false_answer_rate_probes": "p",
    "false_answer_rate_missing_answer": "m", "coverage": "aomu", "risk_low": "aom", "risk_high": "aom",
}  # fmt: skip
"""Classes of queries of which a rate needs at least one."""


def explorer_data(calibration: Calibration, *, most: int = MOST_QUERIES) -> dict[str, Any]:
    """Give the numbers of the explorer as plain JSON.

    Its size follows queries x k_max, never the corpus. Similarities are exact doubles, since the page must decide as
    the library does: rows of base64, little-endian, NaN where fewer passages came back.

    Parameters
    ----------
    most : int
        Queries beyond which they are thinned.
    """
    found = calibration
    kept = kept_queries(len(found.table), most)
    table = found.table.iloc[kept]
    k_max = max(found.params.k_max, found.top_k.value)
    similarity, states = _grid(found, table["query_id"], k_max)
    kinds = sorted({str(kind) for kind in table["kind"]})
    classes = "".join(_class(row.answerability, row.probe) for row in table.itertuples())
    contract = found.scores.contract
    data: dict[str, Any] = {
        "scale": contract.scale,
        "inclusive": contract.threshold_inclusive,
        "tolerance": contract.tolerance,
        "floor": found.floor,
        "old": found.params.old_floor,
        "k": found.top_k.value,
        "kMax": k_max,
        "z": float(ndtri(0.5 + 0.5 * CONFIDENCE)),
        "stops": floor_stops(similarity, [found.floor, found.params.old_floor]),
        "total": len(found.table),
        "place": kept.tolist() if len(kept) < len(found.table) else None,
        "ids": [shorten(query_id, ID) for query_id in table["query_id"]],
        "kinds": [shorten(kind) for kind in kinds],
        "kind": [kinds.index(str(kind)) for kind in table["kind"]],
        "classes": classes,
        "relevant": table["n_relevant"].tolist(),
        "best": _rows_of(table["best_relevant"].to_numpy(dtype=np.float64)[:, None]),
        "bestRank": [0 if pd.isna(rank) else int(rank) for rank in table["best_relevant_rank"]],
        "similarity": _rows_of(similarity),
        "states": states,
        "rates": [[name, *NAMES[name]] for name in shown_rates(classes)],
    }
    if found.texts:
        data["texts"] = [shorten(found.texts.get(query_id, ""), TEXT) for query_id in table["query_id"]]
    return data


def as_json(data: dict[str, Any]) -> str:
    """Write data as compact JSON; NaN is refused."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def kept_queries(n: int, most: int) -> npt.NDArray[np.int64]:
    """Give the places of the queries that are shown: all, or `most` of them evenly spaced.

    Examples
    --------
    >>> kept_queries(3, 5).tolist(), kept_queries(9, 3).tolist()
    ([0, 1, 2], [0, 3, 6])
    """
    return np.arange(n) if n <= most else np.arange(most) * n // most


def floor_stops(similarity: npt.NDArray[np.float64], more: list[float | None]) -> list[float]:
    """Give the floors at which the slider stops: round numbers over the observed range, and some exact ones.

    Examples
    --------
    >>> floor_stops(np.array([[0.1, 0.12, np.nan]]), [0.1137, None])[:7]
    [0.1, 0.1001, 0.1002, 0.1003, 0.1004, 0.1005, 0.1006]
    """
    exact = [value for value in more if value is not None]
    values = np.concatenate([similarity[np.isfinite(similarity)], np.array(exact, dtype=np.float64)])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    rough = max((high - low) / STOPS, 1e-9)
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9)))
    digits = max(0, -int(np.floor(np.log10(step))))
    first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9)) + 1
    return sorted({*(round(place * step, digits) for place in range(first, last + 1)), *exact})


def shown_rates(classes: str) -> list[str]:
    """Name the rates that these queries can have at all.

    Examples
    --------
    >>> shown_rates("op")
    ['false_answer_rate_off_topic', 'false_answer_rate_probes', 'coverage', 'risk_low', 'risk_high']
    """
    there = set(classes)
    return [name for name in NAMES if name not in _NOT_IN_PAGE and there & set(_NEEDED[name])]


def _class(answerability: object, probe: object) -> str:
    return PROBE if probe else CLASSES[str(answerability)]


def _grid(found: Calibration, query_ids: pd.Series, k_max: int) -> tuple[npt.NDArray[np.float64], str]:
    """Lay out the top passages: similarities, (queries, k_max), and one state each, a space where there is none."""
    top = judged_top(found.scores, found.labels)
    rows = pd.Index(query_ids).get_indexer(pd.Index(top["query_id"]))
    inside = (rows >= 0) & (top["rank"] <= k_max).to_numpy(dtype=bool)
    places = (rows[inside], top["rank"].to_numpy(dtype=np.int64)[inside] - 1)
    similarity = np.full((len(query_ids), k_max), np.nan)
    similarity[places] = top["similarity"].to_numpy(dtype=np.float64)[inside]
    states = np.full((len(query_ids), k_max), " ", dtype="<U1")
    states[places] = top["state"].map(STATES).to_numpy(dtype="<U1")[inside]
    return similarity, "".join(states.ravel().tolist())


def _rows_of(values: npt.NDArray[np.float64]) -> str:
    """Encode rows one by one: a comma between them keeps the text free of endless words."""
    return ",".join(base64.b64encode(row.astype("<f8").tobytes()).decode("ascii") for row in values)
