"""What a reader must know before acting on a floor, as full sentences; the most important first."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..choose import Certificate, NoFloor, Recommendation, TopK, proportion
from ..labels import Labels
from ..params import RunParams
from ..scores import Bands, Scores


def caveats_of(
    scores: Scores,
    labels: Labels,
    table: pd.DataFrame,
    bands: Bands,
    choice: Recommendation | NoFloor,
    top_k: TopK,
    params: RunParams,
    facts: Mapping[str, Any],
) -> tuple[str, ...]:
    """Collect the caveats of one run."""
    found = [*_noise(bands), *_missing_answers(bands, choice), *_sizes(scores, labels, table, choice, top_k)]
    found += _old_floor(bands, params)
    found += choice.caveats if isinstance(choice, Recommendation) else ()
    truncated = facts.get("truncated_texts")
    if truncated:
        found.append(f"{truncated} passages are longer than the model reads and were cut by it.")
    found += [f"Labels: {warning}" for warning in labels.warnings]
    return tuple(found)


def _noise(bands: Bands) -> list[str]:
    source = bands.far_noise_source
    if source == "judged passages":
        return [
            "Far noise was not measured: there are no off-topic queries and no model to embed probe queries. Judged "
            "non-relevant passages stand in for it, which are harder to tell from answers than off-topic matches are."
        ]
    if source == "none":
        return ["No noise of any kind was measured: add off-topic queries, judgements of grade 0, or a model to embed probes."]
    if source == "probe queries" and len(bands["off_topic"]):
        return [
            f"Only {len(bands['off_topic'])} off-topic queries are labelled; the far noise is measured with "
            f"{len(bands['probes'])} bundled probe queries instead."
        ]
    if source == "probe queries":
        return [
            "Far noise is measured with bundled probe queries, which are further from the corpus than your users' off-topic "
            "questions may be. Strike subjects the corpus is about, and label 20 off-topic queries to replace them."
        ]
    if len(bands["off_topic"]) < 20:
        return [f"The far noise rests on {len(bands['off_topic'])} off-topic queries."]
    return []


def _missing_answers(bands: Bands, choice: Recommendation | NoFloor) -> list[str]:
    missing = bands["missing_answer"]
    if choice.floor is None:
        return []
    if len(missing) == 0:
        return ["No on-topic question without an answer is labelled, so nothing is known of how the floor treats those."]
    kept = int((missing.scored >= choice.floor).sum())
    rate = proportion(kept, len(missing))
    return [
        f"A floor hardly helps with on-topic questions whose answer is missing: {rate.numerator:g} of {rate.denominator} still get "
        "passages. They need a reranker or an answerer that can refuse."
    ]


def _sizes(
    scores: Scores, labels: Labels, table: pd.DataFrame, choice: Recommendation | NoFloor, top_k: TopK
) -> list[str]:
    said = []
    certificate = choice.certificate
    if choice.floor is not None and certificate is not None and not certificate.certified:
        said.append(_uncertified(certificate))
    if certificate is not None and certificate.certified and top_k.chosen_by == "labels" and certificate.top_k != top_k.value:
        said.append(
            f"The certificate holds with the cap at {certificate.top_k}, fixed beforehand; top-K = {top_k.value} was chosen on the same "
            "queries and is outside of the promise."
        )
    unknown = int((table["answerability"] == "unknown").sum())
    if unknown:
        said.append(f"{unknown} queries have no judgements and are unknown: they count in coverage, never in risk.")
    unscored = int((table["answerability"].eq("answerable") & table["best_relevant"].isna()).sum())
    if unscored:
        said.append(f"{unscored} answerable queries have no relevant passage among the scored ones (index miss); no floor can keep them.")
    dangling = scores.judged["similarity"].isna()
    if dangling.any() and scores.exact:
        said.append(f"{int(dangling.sum())} judged passages are not in the corpus and limit the recall that can be reached.")
    if not scores.exact:
        said.append("The scores are candidate lists of another system, not an exact pull: a passage beyond its list counts as never a candidate.")
    if scores.n_invalid or scores.n_missing:
        said.append(f"{scores.n_invalid} passages with a zero or invalid vector and {scores.n_missing} without one were left out.")
    return said


def _uncertified(certificate: Certificate) -> str:
    promise = f"a hit rate of {certificate.target:.0%} with {certificate.confidence:.0%} confidence"
    if certificate.bound is not None:
        return f"Uncertified: {promise} is certified up to {certificate.bound:.4g} only, below the floor."
    if certificate.n < certificate.needed:
        return (
            f"Uncertified: {certificate.n} answerable query groups cannot show {promise}, even without a miss; label "
            f"{certificate.needed - certificate.n} more."
        )
    return (
        f"Uncertified: too many of the {certificate.n} answerable query groups have no relevant passage within the first "
        f"{certificate.top_k} for {promise} at any floor; ranking, not the floor, is what loses them."
    )


def _old_floor(bands: Bands, params: RunParams) -> list[str]:
    if params.old_floor is None:
        return []
    observed = np.concatenate([bands[name].scored for name in ("relevant", "far_noise", "near_noise", "unjudged_top", "missing_answer")])
    noise = bands["far_noise"].scored
    if len(observed) and params.old_floor > observed.max():
        return [f"The old floor {params.old_floor:g} is above the highest observed score {observed.max():.4g}: it refuses everything."]
    if len(noise) and not (noise < params.old_floor).any():
        return [f"The old floor {params.old_floor:g} is inert: 0 of {len(noise)} noise rows are rejected."]
    return []
