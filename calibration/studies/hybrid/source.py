"""Where a hybrid study's candidates come from: a pull with a lexical leg beside it, or another system's run log."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import LabelError
from ...labels import Labels
from ...retrieval import (
    LEXICAL,
    SIMILARITY,
    Candidates,
    Leg,
    TextSearch,
    configuration_for,
    join_legs,
    read_signals,
    read_trec,
    vector_leg,
)
from ..calibrate import pull
from ..facts import command, run_facts
from ..inputs import passage_texts
from ..progress import Reporter
from .params import HybridParams
from .words import search_words


@dataclass(frozen=True)
class Source:
    """Candidates of a hybrid search and the labels they are judged by.

    Attributes
    ----------
    legs : mapping of name to Leg
        As deep as they are known.
    table : DataFrame
        query_id, kind, answerability, group, probe, n_relevant; labelled queries first, then probes.
    exempt : ndarray of bool
        Candidates that are there for another reason than a score.
    """

    candidates: Candidates
    legs: Mapping[str, Leg]
    labels: Labels
    table: pd.DataFrame
    exempt: npt.NDArray[np.bool_]
    facts: Mapping[str, Any]
    probe_texts: Mapping[str, str] = field(default_factory=dict)

    def content_hash(self) -> str:
        """Hash of all that is studied; equal for two searches of an unchanged source."""
        digest = hashlib.sha256(self.labels.content_hash().encode())
        digest.update(self.exempt.tobytes())
        for frame in (self.candidates.rows, self.table, *(leg.rows for leg in self.legs.values())):
            digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
        return digest.hexdigest()


def open_source(params: HybridParams, report: Reporter) -> Source:
    """Search the legs, or read the run log.

    Raises
    ------
    CalibrationError
        Parameters, labels, model, store or log are wrong.
    """
    return _from_log(params) if params.from_log else _from_search(params, report)


def texts_of(labels: Labels) -> dict[str, str]:
    """Give texts by passage id, and of documents all their passages; empty where the texts lie elsewhere."""
    if labels.corpus is None:
        return {}
    corpus = labels.corpus.assign(whole=passage_texts(labels))
    documents = corpus.dropna(subset=["document_id"]).groupby("document_id", sort=False)["whole"].agg("\n".join)
    return {**documents.to_dict(), **dict(zip(corpus["doc_id"], corpus["whole"], strict=True))}


def _from_search(params: HybridParams, report: Reporter) -> Source:
    pulled = pull(params, report)
    language = params.text_search or configuration_for(pulled.labels.queries["text"].dropna().tolist())
    how = TextSearch(language, params.text_rank)
    words = search_words(params, pulled, how, report)
    vectors = vector_leg(pulled.scores)
    contract = replace(vectors.contract, unscored=params.unscored)
    legs = {SIMILARITY: Leg(vectors.rows, contract), LEXICAL: words}
    candidates = join_legs(legs, pulled.scores.query_ids, depth=params.candidate_depth)
    facts = {
        **run_facts(params, pulled.labels, pulled.probes),
        **pulled.facts,
        "command": command(params, "hybrid"),
        "documents": pulled.scores.n_documents,
        "text_search": {
            "configuration": how.configuration,
            "rank": how.rank,
            "normalisation": how.normalisation,
            "words": "any",
        },
    }
    probes = pulled.probes
    return Source(
        candidates,
        legs,
        pulled.labels,
        _table(pulled.labels, probes),
        np.zeros(len(candidates.rows), dtype=np.bool_),
        facts,
        {} if probes is None else dict(zip(probes["query_id"], probes["text"], strict=True)),
    )


def _from_log(params: HybridParams) -> Source:
    common: dict[str, Any] = {
        "queries": None if params.queries is None else Path(params.queries),
        "rel_level": params.rel_level,
        "unjudged": params.unjudged,
        "answerability_by_kind": params.answerability_by_kind,
    }
    if params.signals is not None:
        log = read_signals(Path(params.signals), params.signal_metrics, **common)
        file = Path(params.signals).name
    else:
        runs = {name: Path(path) for name, path in params.trec_runs.items()}
        log = read_trec(runs, Path(params.qrels or ""), params.signal_metrics, **common)
        file = ", ".join(path.name for path in runs.values())
    candidates = log.candidates
    if SIMILARITY in candidates.contracts:
        contract = replace(candidates.contracts[SIMILARITY], unscored=params.unscored)
        candidates = replace(candidates, contracts={**candidates.contracts, SIMILARITY: contract})
    if log.labels.queries.empty:
        raise LabelError("0 queries: the run log holds none.")
    legs = {name: _leg(candidates, name) for name in candidates.signals}
    facts = {
        **run_facts(params, log.labels, None),
        "command": command(params, "hybrid"),
        "source": {"kind": "run log", "file": file, "rows": len(candidates.rows)},
        "model": {"name": params.model, "digest": None},
    }
    return Source(candidates, legs, log.labels, _table(log.labels, None), log.exempt, facts)


def _leg(candidates: Candidates, name: str) -> Leg:
    found = candidates.rows[["query_id", "doc_id", name, f"{name}_rank"]]
    found = found[found[f"{name}_rank"].notna()].rename(columns={name: "score", f"{name}_rank": "rank"})
    return Leg(found, candidates.contracts[name])


def _table(labels: Labels, probes: pd.DataFrame | None) -> pd.DataFrame:
    table = labels.queries[["query_id", "kind", "answerability", "group"]].assign(probe=False)
    if probes is not None and len(probes):
        ids = probes["query_id"]
        far = pd.DataFrame(
            {"query_id": ids, "kind": "probe", "answerability": "off_topic", "group": ids, "probe": True}
        )
        table = pd.concat([table, far], ignore_index=True)
    counts = labels.relevant_pairs().groupby("query_id").size()
    return table.assign(n_relevant=table["query_id"].map(counts).fillna(0).astype("int64"))
