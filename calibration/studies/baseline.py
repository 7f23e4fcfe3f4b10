"""A committed recommendation with the queries it was frozen on."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from ..contract import ScoreContract
from ..errors import CalibrationError, ParameterError, listed
from .drift import COLUMNS

RECOMMENDATION, QUERIES, MANIFEST = "recommendation.json", "queries.jsonl", "run.json"
NEEDED = ("model", "floor", "top_k", "contract", "fingerprint", "rates", "bands", "ceiling")
HINT = "Commit the recommendation.json and the queries.jsonl of a `calibrate run`."


@dataclass(frozen=True)
class Baseline:
    """A recommendation that was accepted once.

    Attributes
    ----------
    path : Path
        Its recommendation.json.
    document : dict
    queries : DataFrame
        One row per frozen query, probes included; see `drift.COLUMNS`.
    """

    path: Path
    document: dict[str, Any]
    queries: pd.DataFrame

    @property
    def floor(self) -> float | None:
        """The frozen floor; None where the labels supported none."""
        value = self.document["floor"]
        return None if value is None else float(value)

    @property
    def top_k(self) -> int:
        """The frozen cap."""
        return int(self.document["top_k"])

    @property
    def contract(self) -> ScoreContract:
        """What its similarities mean."""
        known = {field.name for field in fields(ScoreContract)}
        return ScoreContract(**{name: value for name, value in self.document["contract"].items() if name in known})

    @property
    def parameters(self) -> dict[str, Any] | None:
        """Parameters of the run, where run.json lies beside the recommendation."""
        path = self.path.parent / MANIFEST
        if not path.is_file():
            return None
        values: dict[str, Any] = dict(_json(path.read_text(encoding="utf-8"), path).get("parameters", {}))
        return values


def read_baseline(path: Path | str) -> Baseline:
    """Read a recommendation, or the folder it lies in, with its queries.

    Raises
    ------
    ParameterError
        Not there, not a recommendation, no queries, numbers that are none, or two files that do not belong together.
    """
    path = Path(path)
    path = path / RECOMMENDATION if path.is_dir() else path
    queries = path.parent / QUERIES
    missing = [str(file) for file in (path, queries) if not file.is_file()]
    if missing:
        raise ParameterError(f"no baseline: {' and '.join(missing)} cannot be found. {HINT}")
    document = _json(path.read_text(encoding="utf-8"), path)
    absent = [name for name in NEEDED if name not in document]
    if absent:
        raise ParameterError(f"{path} is no recommendation: {', '.join(absent)} are missing. {HINT}")
    frame = _queries(queries)
    baseline = Baseline(path, document, frame)
    _check(baseline)
    return baseline


def _json(text: str, path: Path) -> dict[str, Any]:
    def refuse(name: str) -> float:
        raise ValueError(f"it holds {name}")

    try:
        value = json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise ParameterError(f"{path} cannot be read as JSON: {error}.") from None
    if not isinstance(value, dict):
        raise ParameterError(f"{path} holds no JSON object.")
    return value


def _queries(path: Path) -> pd.DataFrame:
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    rows = [_json(line, path) for line in lines]
    if not rows:
        raise ParameterError(f"0 queries evaluated: {path} is empty, so there is nothing to compare with. {HINT}")
    # probes were not frozen by the first versions
    rows = [{"probe": False, **row} for row in rows]
    wrong = [
        f"line {number}: {', '.join(name for name in COLUMNS if name not in row)} missing"
        for number, row in enumerate(rows, 1)
        if not set(COLUMNS) <= set(row)
    ]
    if wrong:
        raise ParameterError(f"{path} cannot be compared with:\n" + listed(wrong))
    frame = pd.DataFrame([{name: row[name] for name in COLUMNS} for row in rows])
    twice = frame.loc[frame["query_id"].duplicated(), "query_id"].tolist()
    if twice:
        raise ParameterError(f"{path} names queries more than once:\n" + listed([str(name) for name in twice]))
    return frame.astype({"hit": object, "top_similarity": "float64"})


def _check(baseline: Baseline) -> None:
    """Refuse a floor that is no number, and files of two different runs."""
    document, path = baseline.document, baseline.path
    floor, top_k = document["floor"], document["top_k"]
    if floor is not None and (isinstance(floor, bool) or not isinstance(floor, int | float)):
        raise ParameterError(f"{path}: floor is {floor!r}, expected a number, or null where there is none.")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise ParameterError(f"{path}: top_k is {top_k!r}, expected a whole number from 1 on.")
    try:
        _ = baseline.contract
    except (CalibrationError, TypeError) as error:
        raise ParameterError(f"{path}: the contract cannot be used: {error}") from None
    claimed = document["rates"]["in_sample"]["hit_rate"]
    answerable = baseline.queries[baseline.queries["answerability"] == "answerable"]
    found = (int(answerable["hit"].eq(True).sum()), len(answerable))
    if found != (claimed["numerator"], claimed["denominator"]):
        raise ParameterError(
            f"{QUERIES} does not belong to {path}: it keeps {found[0]} of {found[1]} answers, the recommendation says "
            f"{claimed['numerator']:g} of {claimed['denominator']}. Commit both files of one run."
        )
