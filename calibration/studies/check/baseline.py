"""A committed recommendation with the queries it was frozen on."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from ...contract import ScoreContract
from ...errors import CalibrationError, ParameterError, listed
from .drift import MEASURES, count
from .frozen import COLUMNS, FrozenDocument, FrozenQuery, problems_of
from .staleness import RULES

RECOMMENDATION, QUERIES, SCORES = "recommendation.json", "queries.jsonl", "scores.parquet"
REPORT, MANIFEST = "report.html", "run.json"
ACCEPTED = ".accepted"
"""Folder beside a baseline that holds a whole new one while its files are put in place."""
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
        One row per frozen query, probes included; see `frozen.COLUMNS`.
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
        values = _json(_text(path), path).get("parameters")
        if not isinstance(values, dict):
            raise ParameterError(f"{path} names no parameters of a run. Commit the run.json of a `calibrate run`.")
        return values


def read_baseline(path: Path | str) -> Baseline:
    """Read a recommendation, or the folder it lies in, with its queries.

    Raises
    ------
    ParameterError
        Not there, not a recommendation, no queries, numbers that are none, or two files that do not belong together,
        such as those that an interrupted `--accept` left.
    """
    path = Path(path)
    path = path / RECOMMENDATION if path.is_dir() else path
    if (path.parent / ACCEPTED).exists():
        raise ParameterError(
            f"{path.parent} holds files of two baselines: accepting a new one was interrupted, and {ACCEPTED} keeps "
            f"the rest of it. Finish it with `calibrate check {path} --accept`, or take the old files back and remove "
            f"{path.parent / ACCEPTED}."
        )
    queries = path.parent / QUERIES
    missing = [str(file) for file in (path, queries) if not file.is_file()]
    if missing:
        raise ParameterError(f"no baseline: {' and '.join(missing)} cannot be found. {HINT}")
    document = _json(_text(path), path)
    stated, absent, wrong = problems_of(FrozenDocument, document)
    if absent:
        raise ParameterError(f"{path} is no recommendation: {', '.join(absent)} are missing. {HINT}")
    if stated is None:
        raise ParameterError(f"{path} cannot be used:\n" + listed(wrong))
    frame = _queries(queries)
    baseline = Baseline(path, document, frame)
    _check_contract(baseline)
    _check_claims(baseline, stated)
    return baseline


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParameterError(f"{path} is not UTF-8 (byte {error.start}): {error.reason}. {HINT}") from None


def _json(text: str, path: Path, line: int | None = None) -> dict[str, Any]:
    where = str(path) if line is None else f"{path} line {line}"

    def refuse(name: str) -> float:
        raise ValueError(f"it holds {name}")

    try:
        value = json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise ParameterError(f"{where} cannot be read as JSON: {error}.") from None
    if not isinstance(value, dict):
        raise ParameterError(f"{where} holds no JSON object.")
    return value


def _queries(path: Path) -> pd.DataFrame:
    lines = [(number, line) for number, line in enumerate(_text(path).split("\n"), 1) if line.strip()]
    if not lines:
        raise ParameterError(f"0 queries evaluated: {path} is empty, so there is nothing to compare with. {HINT}")
    rows, problems = [], []
    for number, line in lines:
        row, missing, wrong = problems_of(FrozenQuery, _json(line, path, number))
        found = ([f"{', '.join(missing)} missing"] if missing else []) + wrong
        problems += [f"line {number}: {problem}" for problem in found]
        rows += [] if row is None else [row.model_dump()]
    if problems:
        raise ParameterError(f"{path} cannot be compared with:\n" + listed(problems))
    frame = pd.DataFrame(rows, columns=COLUMNS)
    twice = frame.loc[frame["query_id"].duplicated(), "query_id"].unique().tolist()
    if twice:
        raise ParameterError(f"{path} names queries more than once:\n" + listed(twice))
    return frame.astype({"hit": object, "top_similarity": "float64"})


def _check_contract(baseline: Baseline) -> None:
    """Refuse a contract that leaves out what its floor means, instead of taking a default for it."""
    absent = [name for name in RULES if name not in baseline.document["contract"]]
    if absent:
        raise ParameterError(f"{baseline.path}: the contract does not say its {', '.join(absent)}. {HINT}")
    try:
        _ = baseline.contract
    except (CalibrationError, TypeError) as error:
        raise ParameterError(f"{baseline.path}: the contract cannot be used: {error}") from None


def _check_claims(baseline: Baseline, stated: FrozenDocument) -> None:
    """Refuse files of two different runs: every rate that the recommendation states follows from its queries."""
    probes = bool(baseline.queries["probe"].any())
    for measure in MEASURES:
        claim = getattr(stated.rates.in_sample, measure.name)
        if claim is None or (measure.who == "probe" and not probes):
            continue
        found = count(measure, baseline.queries)
        if found != (claim.numerator, claim.denominator):
            raise ParameterError(
                f"{QUERIES} does not belong to {baseline.path}: {measure.words} are {found[0]} of {found[1]} in it, "
                f"the recommendation says {claim.numerator:g} of {claim.denominator}. Commit both files of one run."
            )
