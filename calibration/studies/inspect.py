"""The first look: one question, the raw top of the corpus at threshold zero, and the bands beside it."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..errors import LabelError, ParameterError
from ..params import RunParams
from ..scores import Bands, find_bands, query_table
from .calibrate import pull
from .inputs import Inputs, read_inputs
from .progress import SILENT, Reporter
from .vectors import pull_vectors

QUESTION = "question"


@dataclass(frozen=True)
class Inspection:
    """Raw top of one question.

    Attributes
    ----------
    hits : DataFrame
        rank, doc_id, similarity, preview (NA where the text lies elsewhere), answers_below (share of labelled answers that
        score lower) and noise_above (share of far noise that scores at least as high); NaN without the band.
    bands : Bands
    scale : str
    n_documents : int
    """

    hits: pd.DataFrame
    bands: Bands
    scale: str
    n_documents: int | None


def inspect_question(text: str, params: RunParams, report: Reporter = SILENT, *, limit: int = 20) -> Inspection:
    """Score one question against the whole corpus and show where its best passages lie among the bands."""
    if not text.strip():
        raise LabelError("the question is blank; there is nothing to embed.")
    if params.source_kind in ("scores",) or params.model is None:
        raise ParameterError("inspect embeds your question, so it needs a model and vectors made with it; pass --model.")
    inputs = read_inputs(params)
    asked = _ask(inputs, text)
    scores, _, _ = pull_vectors(params, asked, report)
    known = pull(params, report)
    bands = find_bands(known.scores, known.labels, query_table(known.scores, known.labels, known.probes))
    top = scores.top[scores.top["rank"] <= limit]
    best, far = bands["best_relevant"].scored, bands["far_noise"].scored
    hits = pd.DataFrame(
        {
            "rank": top["rank"],
            "doc_id": top["doc_id"],
            "similarity": top["similarity"],
            "answers_below": [_share(best < value) for value in top["similarity"]],
            "noise_above": [_share(far >= value) for value in top["similarity"]],
            "preview": top["doc_id"].map(_previews(inputs)),
        }
    )
    return Inspection(hits.reset_index(drop=True), bands, scores.contract.scale, scores.n_documents)


def _ask(inputs: Inputs, text: str) -> Inputs:
    """The same corpus with one unlabelled query."""
    query = pd.DataFrame(
        {"query_id": [QUESTION], "text": [text], "kind": ["-"], "answerability": ["unknown"], "group": [QUESTION], "must": ["-"]},
        dtype="str",
    )
    labels = replace(inputs.labels, queries=query, qrels=inputs.labels.qrels.iloc[:0])
    return Inputs(labels, None)


def _previews(inputs: Inputs) -> dict[str, str]:
    corpus = inputs.labels.corpus
    if corpus is None:
        return {}
    return {
        doc_id: " ".join((title if isinstance(title, str) and title else str(text)).split())[:60]
        for doc_id, title, text in zip(corpus["doc_id"], corpus["title"], corpus["text"], strict=True)
    }


def _share(mask: np.ndarray) -> float:
    return float(mask.mean()) if len(mask) else float("nan")
