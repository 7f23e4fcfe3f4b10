"""What a run starts from: labels, probes, texts, and vectors of both."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import EmbeddingError, LabelError, ParameterError, StoreError, listed
from ..labels import Labels, detect_languages, read_database, read_labels, read_probes
from ..params import RunParams
from ..resources import bundled

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Inputs:
    """Labels and probes of a run.

    Attributes
    ----------
    probes : DataFrame or None
        query_id, text, language, subject, kind; None where no model could embed them or none are wanted.
    """

    labels: Labels
    probes: pd.DataFrame | None

    @property
    def query_ids(self) -> list[str]:
        """Labelled queries first, then probes."""
        probes = [] if self.probes is None else self.probes["query_id"].tolist()
        return [*self.labels.queries["query_id"], *probes]

    def corpus_hash(self) -> str:
        """Hash of ids and texts of the corpus, in any order of rows."""
        digest = hashlib.sha256()
        corpus = self.labels.corpus
        if corpus is not None:
            rows = corpus.astype(object).where(corpus.notna(), None).itertuples(index=False, name=None)
            for row in sorted(json.dumps(row) for row in rows):
                digest.update(row.encode() + b"\n")
        return digest.hexdigest()


def read_inputs(params: RunParams) -> Inputs:
    """Read labels and probes as the parameters say; texts are checked here, before any model or database is asked.

    Raises
    ------
    LabelError, ParameterError, StoreError
    """
    labels = _labels(params)
    if labels.queries.empty:
        raise LabelError("0 queries: there is nothing to calibrate on.")
    probes = _probes(params, labels) if _can_embed(params) else None
    if probes is not None:
        clash = sorted(set(probes["query_id"]) & set(labels.queries["query_id"]))
        if clash:
            probes = probes.assign(query_id="probe:" + probes["query_id"])
    return Inputs(labels, probes)


def passage_texts(labels: Labels) -> list[str]:
    """Texts to embed, title first where there is one and the text does not begin with it."""
    corpus = labels.corpus
    if corpus is None:
        raise LabelError("the passages have no texts here: give a corpus file, vectors, or the table that holds them.")
    texts = []
    for title, text in zip(corpus["title"], corpus["text"], strict=True):
        known = isinstance(title, str) and title.strip() != ""
        texts.append(f"{title}\n{text}" if known and not text.startswith(title) else text)
    return texts


def query_texts(inputs: Inputs) -> list[str]:
    """Texts of labelled queries and probes, in the order of `Inputs.query_ids`."""
    queries = inputs.labels.queries
    blank = queries.loc[queries["text"].isna(), "query_id"].tolist()
    if blank:
        raise LabelError(f"{len(blank)} queries have no text to embed:\n" + listed([str(name) for name in blank]))
    probes = [] if inputs.probes is None else inputs.probes["text"].tolist()
    return [*queries["text"], *probes]


def order_vectors(wanted: Sequence[str], ids: Sequence[str], vectors: Vectors, what: str) -> Vectors:
    """Bring vectors into the order of `wanted` ids.

    Raises
    ------
    StoreError
        Ids without a vector, all of them named.
    """
    position = {name: row for row, name in enumerate(ids)}
    missing = [name for name in wanted if name not in position]
    if missing:
        raise StoreError(f"{len(missing)} of {len(wanted)} {what} have no vector in the file:\n" + listed(missing))
    return np.ascontiguousarray(vectors[[position[name] for name in wanted]], dtype=np.float32)


def require_model(params: RunParams, what: str) -> str:
    """Return the model's name, or say what needs one."""
    if params.model is None:
        raise EmbeddingError(f"{what} must be embedded, and no model is named; pass --model, or vectors of them.")
    return params.model


def _can_embed(params: RunParams) -> bool:
    """Whether probes can be embedded by the model behind the passages: not with ready vectors of an unnamed one."""
    return params.probes and params.source_kind != "scores" and params.model is not None


def _labels(params: RunParams) -> Labels:
    common: dict[str, Any] = {
        "rel_level": params.rel_level,
        "unjudged": params.unjudged,
        "answerability_by_kind": params.answerability_by_kind,
    }
    if params.scores is not None:
        raise ParameterError("a score file carries its own labels.")
    if params.queries_sql is not None and params.qrels_sql is not None:
        from ..sources.postgres import connect

        with connect(params.dsn, params.service, statement_timeout=params.statement_timeout) as connection:
            return read_database(
                connection,
                queries_sql=params.queries_sql,
                qrels_sql=params.qrels_sql,
                allow_dangling=params.allow_dangling,
                **common,
            )
    if params.uses_sample:
        # grades 2 and 1 of the sample are "answers it" and "useful"
        common["rel_level"] = 1 if params.rel_level is None else params.rel_level
        return read_labels(bundled("data") / "sample", **common)
    elsewhere = params.source_kind in ("database", "vectors")
    return read_labels(
        _path(params.labels),
        queries=_path(params.queries),
        qrels=_path(params.qrels),
        corpus=_path(params.corpus),
        allow_dangling=params.allow_dangling,
        require_corpus=not elsewhere,
        **common,
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _probes(params: RunParams, labels: Labels) -> pd.DataFrame:
    languages = params.languages or list(detect_languages(labels.queries["text"].dropna().tolist())) or ["en"]
    return read_probes(_path(params.probes_file), languages=languages, exclude_subjects=params.exclude_subjects)
