"""Curves and surface: each row is what `outcome` says of that floor."""

from typing import Any

import numpy as np
import pytest
from handmade import Row, labels_of, probes_of, scores_of

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.scores import Scores, query_table
from calibration.studies.curves import curves, pair_counts, surface
from calibration.studies.rates import outcome

SAME = {
    "hit_rate": "hit_rate",
    "coverage": "coverage",
    "recall": "recall_micro",
    "precision_judged": "precision_judged",
    "precision_low": "precision_low",
    "false_answer_rate": "false_answer_rate_off_topic",
    "false_answer_rate_missing": "false_answer_rate_missing_answer",
    "risk_low": "risk_low",
    "risk_high": "risk_high",
}
PROBES = ("p0", "p1")


def drawn(
    seed: int, *, off_topic: int = 3, unjudged: str = "unknown", contract: ScoreContract | None = None
) -> tuple[Scores, Labels]:
    """Random lists with ties, near ties within the tolerance, judged and unjudged passages."""
    rng = np.random.default_rng(seed)
    kinds = {f"a{i}": "answerable" for i in range(6)} | {f"o{i}": "off_topic" for i in range(off_topic)}
    kinds |= {"m0": "missing_answer", "m1": "missing_answer", "u0": "unknown"}
    rows: list[Row] = []
    for query in (*kinds, *PROBES):
        for doc in range(rng.integers(0, 9)):
            rows.append((query, f"d{doc}", float(np.round(rng.uniform(-0.2, 0.8), 1) + rng.choice([0.0, 3e-7, -6e-7]))))
    qrels = [(f"a{i}", f"d{doc}", int(rng.integers(0, 2))) for i in range(6) for doc in range(0, 9, 2)]
    qrels += [(f"a{i}", "sure", 1) for i in range(6)]
    rows += [(f"a{i}", "sure", 0.85) for i in range(5)]
    labels = labels_of(kinds, qrels, unjudged=unjudged)
    return scores_of(labels, rows, probes=PROBES, contract=contract), labels


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize(("unjudged", "off_topic"), [("unknown", 3), ("nonrelevant", 0)])
@pytest.mark.parametrize("top_k", [1, 3, 20])
def test_every_rate_of_the_curves_is_that_of_the_outcome_at_this_floor(
    inclusive: bool, unjudged: str, off_topic: int, top_k: int
) -> None:
    scores, labels = drawn(
        top_k, off_topic=off_topic, unjudged=unjudged, contract=ScoreContract(threshold_inclusive=inclusive)
    )
    table = query_table(scores, labels, probes_of(PROBES))
    frame = curves(scores, labels, table, top_k)
    assert frame["threshold"].is_monotonic_increasing
    same = SAME | ({} if off_topic else {"false_answer_rate": "false_answer_rate_probes"})
    for row in frame.to_dict("records"):
        rates = outcome(scores, labels, table, row["threshold"], top_k, seed=1).rates
        for column, name in same.items():
            value = rates[name].value
            assert row[column] == pytest.approx(np.nan if value is None else value, nan_ok=True), (
                column,
                row["threshold"],
            )
        assert row["hits"] == rates["hit_rate"].numerator
        assert row["accepted"] == rates["precision_low"].denominator
        assert row["relevant"] + row["noise"] == rates["precision_judged"].denominator


def test_hits_coverage_and_recall_fall_and_nothing_is_counted_twice() -> None:
    scores, labels = drawn(7)
    frame = curves(scores, labels, query_table(scores, labels, probes_of(PROBES)), 20)
    for name in ("hits", "covered", "off_topic_kept", "missing_kept", "relevant", "noise", "accepted"):
        assert (np.diff(frame[name]) <= 0).all(), name
    assert (frame["relevant"] + frame["noise"] <= frame["accepted"]).all()
    assert (frame["hits"] <= frame["answered_answerable"]).all()
    assert (frame["risk_low"].dropna() <= frame["risk_high"].dropna()).all()


def test_long_curves_are_thinned_and_keep_both_ends() -> None:
    labels = labels_of(["q"], [("q", "d0", 1)])
    scores = scores_of(labels, [("q", f"d{i}", i / 2000) for i in range(2000)], depth=2000)
    frame = curves(scores, labels, query_table(scores, labels), 2000)
    assert len(frame) == 400
    assert (frame["threshold"].iloc[0], frame["threshold"].iloc[-1]) == (0.0, 1999 / 2000)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_surface_agrees_with_the_outcome_at_every_pair(seed: int) -> None:
    scores, labels = drawn(seed)
    table = query_table(scores, labels, probes_of(PROBES))
    frame = surface(scores, labels, table, 4, points=6)
    assert sorted(frame["top_k"].unique()) == [1, 2, 3, 4]
    for row in frame.to_dict("records"):
        found = outcome(scores, labels, table, row["threshold"], row["top_k"], seed=1)
        assert row["hits"] == found.rates["hit_rate"].numerator
        answerable = found.queries[found.queries["answerability"] == "answerable"]
        assert row["passages"] == pytest.approx(answerable["n_accepted"].mean())


def test_c59_pairs_are_counted_against_the_labels() -> None:
    labels = labels_of(["q"], [("q", "a", 1), ("q", "b", 1), ("q", "c", 0)])
    scores = scores_of(labels, [("q", "a", 0.5), ("q", "c", 0.4)])
    frame = pair_counts(scores, labels)
    assert frame["recall"].tolist() == [0.5, 0.5]
    assert frame["precision"].tolist() == [1.0, 0.5]


def test_c66_c67_degenerate_labels_have_curves_without_invented_numbers() -> None:
    noise_first = labels_of(["q"], [("q", "a", 1), ("q", "b", 0)])
    scores = scores_of(noise_first, [("q", "a", 0.2), ("q", "b", 0.9)])
    frame = curves(scores, noise_first, query_table(scores, noise_first), 5)
    assert frame["threshold"].tolist() == [0.2, 0.9]
    assert frame["precision_judged"].tolist() == [0.5, 0.0]
    assert frame["recall"].tolist() == [1.0, 0.0]
    all_noise = labels_of({"m": "missing_answer"}, [("m", "a", 0)])
    scores = scores_of(all_noise, [("m", "a", 0.1)])
    frame = curves(scores, all_noise, query_table(scores, all_noise), 5)
    assert frame["recall"].isna().all()
    assert frame["hit_rate"].isna().all()
    assert not (frame["recall"] >= 0.9).any()


@pytest.mark.parametrize("rows", [[("q", "a", 0.47)], []])
def test_c74_one_score_or_none_still_gives_curves(rows: list[Row]) -> None:
    labels = labels_of(["q"], [("q", "a", 1)])
    scores = scores_of(labels, rows)
    table = query_table(scores, labels)
    frame: Any = curves(scores, labels, table, 5)
    assert frame["threshold"].tolist() == [score for _, _, score in rows]
    assert len(surface(scores, labels, table, 3)) == 3 * len(rows)
    assert len(pair_counts(scores, labels)) == len(rows)
