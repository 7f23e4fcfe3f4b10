"""The calibration study: parameters in, one Calibration out. It pulls, or finds the pull of the same inputs."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..contract import ScoreContract, check_floor_in_range
from ..labels import Labels
from ..params import RunParams
from ..scores import Scores, document_labels, scores_from_candidates
from . import stage
from .analyse import analyse
from .facts import run_facts
from .inputs import Inputs, passage_texts, read_inputs
from .model import Calibration
from .partstore import PartStore
from .progress import SILENT, Reporter
from .texts import open_model
from .tokens import passage_lengths
from .vectors import pull_vectors

if TYPE_CHECKING:
    from ..embed.registry import ModelSpec

SESSION = "CALIBRATION_RUN"
"""Environment variable naming one invocation: within it, a pull from a source that may change is found again."""


@dataclass(frozen=True)
class Pulled:
    """Scores with the labels and probes they belong to.

    Attributes
    ----------
    key : str
        Hash of what they were pulled from, under which they are kept.
    """

    key: str
    scores: Scores
    labels: Labels
    probes: pd.DataFrame | None
    facts: Mapping[str, Any]

    def content_hash(self) -> str:
        """Hash of scores, labels and facts; equal for two pulls of an unchanged source."""
        parts = (stage.content_hash(self.scores, self.facts), self.labels.content_hash(), _probe_rows(self.probes))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def calibrate(params: RunParams, report: Reporter = SILENT) -> Calibration:
    """Calibrate one model.

    Raises
    ------
    CalibrationError
        Parameters, labels, model or store are wrong. That no floor is supported is a result.
    """
    pulled = pull(params, report)
    if params.old_floor is not None:
        check_floor_in_range(params.old_floor, pulled.scores.contract)
    return analyse(
        pulled.scores,
        pulled.labels,
        pulled.probes,
        params,
        name=params.model or params.run_name,
        facts={**run_facts(params, pulled.labels, pulled.probes), **pulled.facts},
        texts=_texts(pulled.labels, pulled.probes) if params.show_text else {},
        lengths=passage_lengths(pulled.scores, pulled.labels, params.model, k_max=params.k_max),
    )


def pull(params: RunParams, report: Reporter = SILENT) -> Pulled:
    """Get the Scores of the parameters' source at threshold zero."""
    if params.scores is not None:
        return _score_file(params, Path(params.scores))
    inputs = read_inputs(params)
    key, kept = _key(params, inputs)
    before = _found(key, inputs) if kept else None
    if before is not None:
        report.note(f"{params.run_name}: scores of the same inputs found, nothing is embedded or pulled")
        return before
    parts = PartStore(stage.parts_folder(stage.stage_key(_depends_on(params, inputs, None))))
    scores, facts, labels = pull_vectors(params, inputs, report, parts)
    if kept:
        stage.store(key, scores, facts)
    parts.forget()
    return Pulled(key, scores, labels, inputs.probes, facts)


def embeds_here(params: RunParams) -> bool:
    """Whether texts are embedded by an offline model, in this process."""
    return params.scores is None and _spec(params.model) is not None


def found(params: RunParams) -> bool:
    """Whether `pull` would find the scores of the same inputs, and neither embed nor read anything."""
    if params.scores is not None:
        return False
    key, kept = _key(params, read_inputs(params))
    return kept and stage.kept(key)


def _key(params: RunParams, inputs: Inputs) -> tuple[str, bool]:
    """Name the pull by all it depends on, and say whether it may be kept under that name."""
    changing, session = _may_change(params), os.environ.get(SESSION)
    once = (session or "") if changing else None
    return stage.stage_key(_depends_on(params, inputs, once), once=once), not changing or session is not None


def _found(key: str, inputs: Inputs) -> Pulled | None:
    before = stage.find(key)
    if before is None:
        return None
    scores, facts = before
    return Pulled(key, scores, inputs.labels, inputs.probes, facts)


def check(params: RunParams) -> None:
    """Refuse a model that cannot be opened here, before anything is embedded or pulled.

    Raises
    ------
    ParameterError, EmbeddingError
    """
    if params.model is not None and params.scores is None:
        open_model(params, params.model)


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
    labels = document_labels(labels, candidates)
    contract = ScoreContract(
        metric=params.metric,
        threshold_inclusive=params.inclusive,
        embedding_version=params.model_value or "undeclared",
        score_transform=params.score_transform,
    )
    scores = scores_from_candidates(candidates, labels, contract, depth=max(100, 2 * params.k_max))
    facts = {
        "source": {
            "kind": "score file",
            "file": path.name,
            "rows": len(candidates),
            "metric": params.metric,
            "score_transform": params.score_transform,
        },
        "model": {"name": params.model, "digest": None},
        "invalid_scores": candidates.attrs.get("invalid_scores", 0),
    }
    key = stage.stage_key({"file": _file_hash(path), "labels": labels.content_hash()})
    return Pulled(key, scores, labels, None, facts)


def _may_change(params: RunParams) -> bool:
    """Whether the source may give other scores under the same name: a live table, or a model behind a server."""
    served = params.model is not None and _spec(params.model) is None
    return params.source_kind == "database" or (served and (params.vectors is None or params.probes))


def _depends_on(params: RunParams, inputs: Inputs, session: str | None) -> dict[str, Any]:
    """Everything the pull depends on; what may change behind its name counts within one session only."""
    names = (
        "model", "dimensions", "query_prefix", "passage_prefix", "base_url", "metric", "strategy", "inclusive", "k_max",
        "table", "id_column", "vector_column", "document_column", "model_column", "model_value", "where", "service",
        "dsn", "allow_dangling",
    )  # fmt: skip
    values: dict[str, Any] = {name: getattr(params, name) for name in names}
    values["labels"] = inputs.labels.content_hash()
    values["corpus"] = inputs.corpus_hash()
    values["probes"] = _probe_rows(inputs.probes)
    if params.vectors is not None and Path(params.vectors).is_file():
        values["vectors"] = _file_hash(Path(params.vectors))
    spec = _spec(params.model)
    if spec is not None:
        values["packages"] = [dict(spec.packages), spec.recipe, list(spec.files.values())]
    values["session"] = session
    return values


def _spec(model: str | None) -> "ModelSpec | None":
    from ..embed import MODELS

    return next((spec for spec in MODELS.values() if model in (spec.name, *spec.aliases)), None)


def _probe_rows(probes: pd.DataFrame | None) -> str:
    return "" if probes is None else probes[["query_id", "text"]].to_json(orient="values")


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _texts(labels: Labels, probes: pd.DataFrame | None) -> dict[str, str]:
    texts = {
        query_id: text
        for query_id, text in zip(labels.queries["query_id"], labels.queries["text"], strict=True)
        if isinstance(text, str)
    }
    if probes is not None:
        texts |= dict(zip(probes["query_id"], probes["text"], strict=True))
    if labels.corpus is not None:
        texts |= dict(zip(labels.corpus["doc_id"], passage_texts(labels), strict=True))
    return texts
