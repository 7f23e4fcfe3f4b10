"""The calibration study: parameters in, one Calibration out. It pulls, or finds the pull of the same inputs."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..contract import ScoreContract
from ..labels import Labels
from ..params import RunParams
from ..scores import Scores, scores_from_candidates
from . import stage
from .analyse import analyse
from .facts import run_facts
from .inputs import Inputs, passage_texts, read_inputs
from .model import Calibration
from .progress import SILENT, Reporter
from .vectors import pull_vectors

SESSION = "CALIBRATION_RUN"
"""Environment variable naming one invocation: within it, a pull from a source that may change is found again."""


@dataclass(frozen=True)
class Pulled:
    """Scores with the labels and probes they belong to; `key` is the hash of what they were pulled from."""

    key: str
    scores: Scores
    labels: Labels
    probes: pd.DataFrame | None
    facts: Mapping[str, Any]


def calibrate(params: RunParams, report: Reporter = SILENT) -> Calibration:
    """Calibrate one model.

    Raises
    ------
    CalibrationError
        Parameters, labels, model or store are wrong. That no floor is supported is a result.
    """
    pulled = pull(params, report)
    return analyse(
        pulled.scores,
        pulled.labels,
        pulled.probes,
        params,
        name=params.model or params.run_name,
        facts={**run_facts(params, pulled.labels, pulled.probes), **pulled.facts},
        texts=_texts(pulled.labels, pulled.probes) if params.show_text else {},
    )


def pull(params: RunParams, report: Reporter = SILENT) -> Pulled:
    """Get the Scores of the parameters' source at threshold zero."""
    if params.scores is not None:
        return _score_file(params, Path(params.scores))
    inputs = read_inputs(params)
    key = stage.stage_key(_depends_on(params, inputs))
    found = stage.find(key)
    if found is not None:
        scores, facts = found
        report.note(f"{params.run_name}: scores of the same inputs found, nothing is embedded or pulled")
        return Pulled(key, scores, inputs.labels, inputs.probes, facts)
    scores, facts, labels = pull_vectors(params, inputs, report)
    stage.store(key, scores, facts)
    return Pulled(key, scores, labels, inputs.probes, facts)


def _score_file(params: RunParams, path: Path) -> Pulled:
    from ..sources.scorefile import read_scores

    candidates, labels = read_scores(
        path,
        metric=params.metric,
        rel_level=params.rel_level,
        unjudged=params.unjudged,
        queries=None if params.queries is None else Path(params.queries),
        answerability_by_kind=params.answerability_by_kind,
    )
    contract = ScoreContract(
        metric=params.metric, threshold_inclusive=params.inclusive, embedding_version=params.model_value or "undeclared"
    )
    scores = scores_from_candidates(candidates, labels, contract, depth=max(100, 2 * params.k_max))
    facts = {
        "source": {"kind": "score file", "file": path.name, "rows": len(candidates), "metric": params.metric},
        "model": {"name": params.model, "digest": None},
        "invalid_scores": candidates.attrs.get("invalid_scores", 0),
    }
    key = stage.stage_key({"file": hashlib.sha256(path.read_bytes()).hexdigest(), "labels": labels.content_hash()})
    return Pulled(key, scores, labels, None, facts)


def _depends_on(params: RunParams, inputs: Inputs) -> dict[str, Any]:
    """Everything the pull depends on; sources that may change behind their name only count within one invocation."""
    from ..embed import MODELS

    names = (
        "model", "dimensions", "query_prefix", "passage_prefix", "base_url", "metric", "strategy", "inclusive", "k_max",
        "table", "id_column", "vector_column", "document_column", "model_column", "model_value", "where", "service", "dsn",
    )  # fmt: skip
    values: dict[str, Any] = {name: getattr(params, name) for name in names}
    values["labels"] = inputs.labels.content_hash()
    values["corpus"] = inputs.corpus_hash()
    probes = inputs.probes
    values["probes"] = None if probes is None else probes[["query_id", "text"]].to_json(orient="values")
    if params.vectors is not None:
        file = Path(params.vectors)
        values["vectors"] = [str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] if file.exists() else None
    aliases = {alias: spec for spec in MODELS.values() for alias in (spec.name, *spec.aliases)}
    spec = aliases.get(params.model or "")
    if spec is not None:
        values["packages"] = [dict(spec.packages), spec.recipe, list(spec.files.values())]
    if params.source_kind == "database" or (params.model is not None and spec is None and params.source_kind != "vectors"):
        values["session"] = os.environ.get(SESSION) or os.urandom(16).hex()
    return values


def _texts(labels: Labels, probes: pd.DataFrame | None) -> dict[str, str]:
    texts = {
        query_id: text for query_id, text in zip(labels.queries["query_id"], labels.queries["text"], strict=True) if isinstance(text, str)
    }
    if probes is not None:
        texts |= dict(zip(probes["query_id"], probes["text"], strict=True))
    if labels.corpus is not None:
        texts |= dict(zip(labels.corpus["doc_id"], passage_texts(labels), strict=True))
    return texts
