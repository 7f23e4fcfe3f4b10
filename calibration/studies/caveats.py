"""What a reader must know before acting on a floor, as full sentences; the most important first."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..choose import Certificate, NoFloor, Rate, Recommendation, TopK
from ..labels import Labels
from ..labels.tables import counted
from ..params import RunParams
from ..scores import Bands, Scores

MANY_UNJUDGED = 1 / 3
"""Share of unjudged passages in the top-K from which the reader is told."""


def caveats_of(
    scores: Scores,
    labels: Labels,
    table: pd.DataFrame,
    bands: Bands,
    choice: Recommendation | NoFloor,
    top_k: TopK,
    unjudged: Rate,
    params: RunParams,
    facts: Mapping[str, Any],
) -> tuple[str, ...]:
    """Collect the caveats of one run."""
    found = [*_noise(bands), *_missing_answers(scores, bands, choice), *_certificate(choice, top_k)]
    found += [
        *_queries(table),
        *_unjudged(unjudged, top_k),
        *_scores(scores),
        *_lengths(scores, params),
        *_old_floor(scores, table, bands, params),
    ]
    found += choice.caveats if isinstance(choice, Recommendation) else ()
    truncated = facts.get("truncated_texts")
    if truncated:
        found.append(f"{_cut(truncated, labels.corpus)} longer than the model reads and were cut by it.")
    found += [f"Labels: {warning}" for warning in labels.warnings]
    return tuple(found)


def _cut(passages: int, corpus: pd.DataFrame | None) -> str:
    """Say how many passages are meant, of how many where that is known.

    Examples
    --------
    >>> _cut(1, None), _cut(80, pd.DataFrame(index=range(80))), _cut(3, pd.DataFrame(index=range(80)))
    ('1 passage is', 'All 80 passages are', '3 of 80 passages are')
    """
    if corpus is None or passages > len(corpus):
        return f"{passages} passage is" if passages == 1 else f"{passages} passages are"
    if passages == len(corpus) > 1:
        return f"All {passages} passages are"
    return f"{passages} of {len(corpus)} passages are"


def _noise(bands: Bands) -> list[str]:
    source = bands.far_noise_source
    if source == "judged passages":
        return [
            "Far noise was not measured: there are no off-topic queries and no model to embed probe queries. Judged "
            "non-relevant passages stand in for it, which are harder to tell from answers than off-topic matches are."
        ]
    if source == "none":
        return [
            "No noise of any kind was measured: add off-topic queries, judgements of grade 0, or a model to embed "
            "probe queries."
        ]
    if source == "probe queries" and len(bands["off_topic"]):
        return [
            f"Only {len(bands['off_topic'])} off-topic queries are labelled; the far noise is measured with "
            f"{len(bands['probes'])} bundled probe queries instead."
        ]
    if source == "probe queries":
        return [
            "Far noise is measured with bundled probe queries, which are further from the corpus than your users' "
            "off-topic questions may be. Strike subjects the corpus is about, and label 20 off-topic queries to "
            "replace them."
        ]
    if len(bands["off_topic"]) < 20:
        return [f"The far noise rests on {len(bands['off_topic'])} off-topic queries."]
    return []


def _missing_answers(scores: Scores, bands: Bands, choice: Recommendation | NoFloor) -> list[str]:
    missing = bands["missing_answer"]
    if choice.floor is None:
        return []
    if len(missing) == 0:
        return [
            "No on-topic question without an answer is labelled, so nothing is known of how the floor treats those."
        ]
    kept = int(scores.contract.accept(missing.scored, choice.floor).sum())
    return [
        f"Of the on-topic questions whose answer is missing, {kept} of {len(missing)} still get passages at this "
        "floor: a floor hardly helps there, a reranker or an answerer that can refuse does."
    ]


def _certificate(choice: Recommendation | NoFloor, top_k: TopK) -> list[str]:
    certificate = choice.certificate
    if not isinstance(choice, Recommendation) or certificate is None:
        return []
    if not certificate.certified:
        return [_uncertified(certificate, choice.floor)]
    if top_k.chosen_by == "labels" and certificate.top_k != top_k.value:
        return [
            f"The certificate holds with the cap at {certificate.top_k}, fixed beforehand; top-K = {top_k.value} was "
            "chosen on the same queries and is outside of the promise."
        ]
    return []


def _queries(table: pd.DataFrame) -> list[str]:
    said = []
    unknown = int((table["answerability"] == "unknown").sum())
    if unknown > 0:
        said.append(
            f"{counted(unknown, 'query', 'queries')} without a relevant judgement, of which nobody has said "
            "whether there is an answer: unknown, they count in coverage, never in risk."
        )
    unscored = int((table["answerability"].eq("answerable") & table["best_relevant"].isna()).sum())
    if unscored > 0:
        said.append(
            f"{counted(unscored, 'answerable query', 'answerable queries')} without a relevant passage among the "
            "scored ones (index miss); no floor can keep them."
        )
    return said


def _unjudged(share: Rate, top_k: TopK) -> list[str]:
    if share.value is None or share.value < MANY_UNJUDGED:
        return []
    return [
        f"Of the first {top_k.value} passages of answerable queries {share.numerator:g} of {share.denominator} "
        f"({share.value:.0%}) are unjudged. Some of them may be answers: the hit rate is a lower bound, and a model "
        "that finds passages nobody has judged looks worse than it is."
    ]


def _scores(scores: Scores) -> list[str]:
    said = []
    if scores.sample is not None:
        sample = scores.sample
        said.append(
            f"Only a sample of the corpus was read: {sample.rows:,} of {sample.of:,} passages, in {sample.parts} of "
            f"{sample.of_parts:,} blocks. Best and judged passages are exact; the backdrop of all scores is off by at "
            f"most about {100 * sample.error:.1g} points."
        )
    dangling = int(scores.judged["similarity"].isna().sum())
    if dangling > 0 and scores.exact:
        said.append(
            f"{counted(dangling, 'judged passage is', 'judged passages are')} not in the corpus; recall cannot reach 1."
        )
    if not scores.exact:
        said.append(
            "The scores are candidate lists of another system, not an exact pull: a passage beyond its list counts as "
            "never a candidate."
        )
    if scores.n_missing > 0 and not scores.exact:
        said.append(
            f"{counted(scores.n_missing, 'candidate has', 'candidates have')} no score: neither accepted nor rejected, "
            "and out of every rate."
        )
    elif scores.n_invalid > 0 or scores.n_missing > 0:
        said.append(
            f"{counted(scores.n_invalid, 'passage')} with a zero or invalid vector and {scores.n_missing} without "
            "one were left out."
        )
    return said


def _lengths(scores: Scores, params: RunParams) -> list[str]:
    """Say what a score file was believed without its vectors."""
    contract = scores.contract
    if params.source_kind != "scores" or not contract.definition.needs_unit_vectors or not contract.on_cosine_scale:
        return []
    own = "score" if contract.higher_is_better else "score with score_transform -x"
    return [
        f"The score file holds no vectors: {contract.metric} was read as that of vectors of unit length on both sides, "
        "which nothing here could measure. Of other vectors, no floor or conversion of this report holds; calibrate "
        f"their scores as metric {own}."
    ]


def _uncertified(certificate: Certificate, floor: float) -> str:
    promise = f"a hit rate of {certificate.target:.0%} with {certificate.confidence:.0%} confidence"
    if certificate.bound is not None and floor <= certificate.bound:
        return f"Uncertified: with so little noise the floor rests on extremes, and {promise} is not promised of it."
    if certificate.bound is not None:
        return f"Uncertified: {promise} is certified up to {certificate.bound:.4g} only, below the floor."
    if certificate.n < certificate.needed:
        return (
            f"Uncertified: {certificate.n} answerable query groups cannot show {promise}, even without a miss; label "
            f"{certificate.needed - certificate.n} more."
        )
    return (
        f"Uncertified: too many of the {certificate.n} answerable query groups have no relevant passage within the "
        f"first {certificate.top_k} for {promise} at any floor; ranking, not the floor, is what loses them."
    )


def _old_floor(scores: Scores, table: pd.DataFrame, bands: Bands, params: RunParams) -> list[str]:
    if params.old_floor is None:
        return []
    accept = scores.contract.accept
    highest, noise = float(table["top_similarity"].max()), bands["far_noise"].scored
    if np.isfinite(highest) and not accept(highest, params.old_floor):
        return [
            f"The old floor {params.old_floor:g} is above the highest observed score {highest:.4g}: it refuses "
            "everything."
        ]
    if len(noise) and accept(noise, params.old_floor).all():
        return [f"The old floor {params.old_floor:g} is inert: 0 of {len(noise)} noise rows are rejected."]
    return []
