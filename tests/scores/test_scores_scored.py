"""Candidate lists of another system."""

import numpy as np
import pandas as pd
import pytest
from handmade import candidates_of, labels_of, scores_of

from calibration.contract import ScoreContract
from calibration.errors import ContractError, LabelError
from calibration.scores import document_labels, scores_from_candidates


def test_c45_an_unscored_candidate_is_counted_and_zero_stays_a_score() -> None:
    labels = labels_of(["q"], [("q", "A", 1), ("q", "B", 1)])
    scores = scores_of(labels, [("q", "A", 0.41), ("q", "B", None), ("q", "C", 0.0), ("q", "D", 0.12)])
    assert scores.top[["doc_id", "similarity", "rank"]].values.tolist() == [
        ["A", 0.41, 1],
        ["D", 0.12, 2],
        ["C", 0.0, 3],
    ]
    assert scores.n_missing == 1
    assert scores.judged["similarity"].isna().tolist() == [False, True]
    assert scores.judged["rank"].isna().tolist() == [False, True]
    assert scores.observed["similarity"].tolist() == [0.41, 0.12, 0.0]


def test_c77_a_nan_score_changes_no_rank() -> None:
    for values in ([0.2, float("nan"), 0.9], [float("nan"), 0.2, 0.9]):
        scores = scores_of(labels_of(["q"]), [("q", f"d{i}", value) for i, value in enumerate(values)])
        assert scores.top["similarity"].tolist() == [0.9, 0.2]
        assert scores.n_missing == 1


def test_c03_a_transform_that_runs_the_wrong_way_is_an_error_not_a_bad_model() -> None:
    labels = labels_of(["q"], [("q", "good", 1), ("q", "n1", 0), ("q", "n2", 0)])
    rows = [("q", "good", 0.0), ("q", "n1", 0.1813), ("q", "n2", 0.5507)]
    with pytest.raises(
        ContractError, match=r"higher is better, but relevant scores are worse than noise in 2 of 2 pairs"
    ):
        scores_of(labels, rows)
    right = scores_of(labels, rows, contract=ScoreContract("cosine_distance"))
    assert right.top["doc_id"].tolist() == ["good", "n1", "n2"]


def test_hard_negatives_that_beat_a_weak_model_are_no_wrong_direction() -> None:
    """The judged others were mined from above the answer, which still stands high in a list of twenty."""
    qrels = [("q", "good", 1), ("q", "d0", 0), ("q", "d1", 0)]
    rows = [("q", f"d{i}", 0.9 - i / 50) for i in range(20)]
    rows.append(("q", "good", 0.87))
    assert scores_of(labels_of(["q"], qrels), rows).judged["rank"].tolist() == [3, 1, 2]
    upside_down = [(query, doc, -score) for query, doc, score in rows]
    with pytest.raises(ContractError, match="contradict"):
        scores_of(labels_of(["q"], [("q", "good", 1), ("q", "d18", 0), ("q", "d19", 0)]), upside_down)


def test_c66_one_pair_is_too_little_to_blame_the_direction() -> None:
    scores = scores_of(labels_of(["q"], [("q", "a", 1), ("q", "b", 0)]), [("q", "a", 0.2), ("q", "b", 0.9)])
    assert scores.judged["rank"].tolist() == [2, 1]


def test_c43_c48_scores_that_carry_no_floor_are_refused_before_anything_is_computed() -> None:
    for metric in ("rrf", "minmax_per_query"):
        with pytest.raises(ContractError, match="no floor on"):
            scores_of(labels_of(["q"]), [("q", "d", 2 / 61)], contract=ScoreContract(metric))


DOCUMENTS = {"g#1": "g", "g#2": "g", "x#1": "x"}
CHUNKS = [("q1", "g#2", 0.45), ("q1", "g#1", 0.50), ("q1", "x#1", 0.20)]


def test_c54_the_best_chunk_speaks_for_its_document_when_documents_are_judged() -> None:
    scores = scores_of(labels_of(["q1"], [("q1", "g", 1)]), CHUNKS, documents=DOCUMENTS)
    assert scores.level == "document"
    assert scores.top[["doc_id", "similarity", "rank"]].values.tolist() == [["g", 0.5, 1], ["x", 0.2, 2]]
    assert scores.judged[["similarity", "rank"]].values.tolist() == [[0.5, 1]]


def test_c54_judged_passages_stay_passages_unless_their_labels_are_lifted() -> None:
    labels = labels_of(["q1"], [("q1", "g#2", 2), ("q1", "g#1", 1), ("q1", "x#1", 0)])
    passages = scores_of(labels, CHUNKS, documents=DOCUMENTS)
    assert passages.level == "passage"
    assert len(passages.top) == 3
    lifted = document_labels(labels, candidates_of(CHUNKS, DOCUMENTS))
    assert lifted.qrels.values.tolist() == [["q1", "g", 2], ["q1", "x", 0]]
    assert scores_of(lifted, CHUNKS, documents=DOCUMENTS).level == "document"
    assert document_labels(labels, candidates_of(CHUNKS)) is labels


def test_a_query_that_got_nothing_back_stays_and_a_foreign_one_is_refused() -> None:
    labels = labels_of(["q1", "q2"], [("q1", "a", 1), ("q2", "a", 1)])
    scores = scores_of(labels, [("q1", "a", 0.5)])
    assert scores.query_ids == ["q1", "q2"]
    assert scores.histogram.counts.sum(axis=1).tolist() == [1, 0]
    assert scores.judged["similarity"].isna().tolist() == [False, True]
    with pytest.raises(LabelError, match="2 queries that are not among the labels:\n  - query 'q8'\n  - query 'q9'"):
        scores_of(labels, [("q8", "a", 0.5), ("q9", "a", 0.5)])


def test_nothing_but_unscored_candidates_gives_empty_scores() -> None:
    scores = scores_of(labels_of(["q"], [("q", "a", 1)]), [("q", "a", None)])
    assert len(scores.top) == len(scores.observed) == 0
    assert scores.histogram.counts.sum() == 0
    assert scores.judged["similarity"].isna().all()


def test_scores_off_the_cosine_scale_get_a_histogram_of_their_own_range() -> None:
    rows = [("q", "a", 12.5), ("q", "b", 3.0), ("q", "c", -4.0)]
    scores = scores_of(labels_of(["q"]), rows, contract=ScoreContract("score"))
    assert (scores.histogram.edges[0], scores.histogram.edges[-1]) == (-4.0, 12.5)
    assert scores.histogram.counts.sum() == 3
    same = scores_of(labels_of(["q"]), [("q", "a", 3.0)], contract=ScoreContract("score"))
    assert same.histogram.counts.sum() == 1


def test_without_every_score_what_is_observed_is_the_top_and_the_judged() -> None:
    from dataclasses import replace

    labels = labels_of(["q"], [("q", "d9", 1), ("q", "d0", 1)])
    scores = scores_of(labels, [("q", f"d{i}", 0.9 - i / 20) for i in range(10)], depth=3)
    seen = replace(scores, everything=None).observed
    assert seen["doc_id"].tolist() == ["d0", "d1", "d2", "d9"]
    assert seen["rank"].tolist() == [1, 2, 3, 10]


def test_the_order_of_candidates_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    labels = labels_of(["q1", "q2"], [("q1", "d1", 1), ("q2", "d3", 0)])
    frame = candidates_of([(q, f"d{i}", float(rng.choice([0.5, 0.4, 0.3]))) for q in ("q1", "q2") for i in range(12)])
    one = scores_from_candidates(frame, labels, ScoreContract(), depth=5)
    other = scores_from_candidates(frame.sample(frac=1, random_state=2), labels, ScoreContract(), depth=5)
    pd.testing.assert_frame_equal(one.top, other.top)
    pd.testing.assert_frame_equal(one.judged, other.judged)
    assert (one.histogram.counts == other.histogram.counts).all()
