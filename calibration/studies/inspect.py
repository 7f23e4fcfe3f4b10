"""The first look: one question, the raw top of the corpus at threshold zero, and the bands beside it."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..errors import LabelError, ParameterError
from ..params import RunParams
from ..scores import Bands, find_bands, query_table
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
        rank, doc_id, similarity, preview (NA where the text lies elsewhere), answers_below (share of labelled answers
        that score lower) and noise_above (share of far noise that scores at least as high); NaN without the band.
    bands : Bands
    scale : str
    n_documents : int
    """

    hits: pd.DataFrame
    bands: Bands
    scale: str
    n_documents: int | None


def inspect_question(text: str, params: RunParams, report: Reporter = SILENT, *, limit: int = 20) -> Inspection:
    """Score one question against the whole corpus and show where its best passages lie among the bands.

    The question and the labelled queries travel in one pass, so the bands are those of the corpus as it is now.

    Raises
    ------
    LabelError, ParameterError
        The question is blank; there is no model to embed it with.
    """
    if not text.strip():
        raise LabelError("the question is blank; there is nothing to embed.")
    if params.source_kind == "scores" or params.model is None:
        raise ParameterError(
            "inspect embeds your question, so it needs a model and vectors made with it; pass --model."
        )
    inputs = read_inputs(params)
    question = _free_id(inputs)
    scores, _, labels = pull_vectors(params, _with_question(inputs, question, text), report)
    bands = find_bands(scores, labels, query_table(scores, labels, inputs.probes))
    top = scores.top[(scores.top["query_id"] == question) & (scores.top["rank"] <= limit)]
    best, far = bands["best_relevant"].scored, bands["far_noise"].scored
    hits = pd.DataFrame(
        {
            "rank": top["rank"].astype("int64"),
            "doc_id": top["doc_id"],
            "similarity": top["similarity"].astype("float64"),
            "answers_below": [_share(best < value) for value in top["similarity"]],
            "noise_above": [_share(far >= value) for value in top["similarity"]],
            "preview": top["doc_id"].map(_previews(inputs)),
        }
    )
    return Inspection(hits.reset_index(drop=True), bands, scores.contract.scale, scores.n_documents)


def _free_id(inputs: Inputs) -> str:
    taken, name = set(inputs.query_ids), QUESTION
    while name in taken:
        name += "'"
    return name


def _with_question(inputs: Inputs, query_id: str, text: str) -> Inputs:
    """Add a question to the probes: the model embeds those even where the labelled queries come as vectors."""
    row = pd.DataFrame({"query_id": [query_id], "text": [text]}, dtype="str")
    return replace(inputs, probes=row if inputs.probes is None else pd.concat([inputs.probes, row], ignore_index=True))


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
