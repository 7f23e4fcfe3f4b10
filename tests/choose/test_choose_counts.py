"""One table of counts at every distinct threshold."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import confusion_matrix_at_thresholds, precision_recall_curve

from calibration.choose import POLICIES, count_at_thresholds, survival

scored = st.lists(st.tuples(st.integers(-20, 20).map(lambda i: i / 20), st.booleans()), min_size=1, max_size=40)


def test_c66_the_last_point_of_the_curve_has_no_threshold() -> None:
    table = count_at_thresholds([0.2, 0.9], [1, 0])
    assert table.thresholds.tolist() == [0.9, 0.2]
    assert table.precision.tolist() == [0.0, 0.5]
    assert table.recall.tolist() == [0.0, 1.0]
    # the invented point (precision 1, recall 0) is no candidate: the best F1 is at an observed score
    assert POLICIES["max F1"](np.array([0.2]), np.array([0.9])) == 0.2


def test_c67_no_positive_leaves_recall_undefined() -> None:
    table = count_at_thresholds([0.1, 0.4, 0.35], [0, 0, 0])
    assert np.isnan(table.recall).all()
    assert table.precision.tolist() == [0.0, 0.0, 0.0]
    assert not (table.recall >= 0.9).any()


def test_c77_nan_is_counted_apart_and_sorts_nowhere() -> None:
    for scores in ([0.2, np.nan, 0.9], [np.nan, 0.2, 0.9]):
        table = count_at_thresholds(scores, [True, True, True])
        assert table.invalid == 1
        assert table.thresholds.tolist() == [0.9, 0.2]
        assert table.recall.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_nothing_scored_is_an_empty_table() -> None:
    for scores in ([], [np.nan], [-np.inf]):
        table = count_at_thresholds(scores, [True] * len(scores))
        assert len(table.thresholds) == len(table.recall) == len(table.precision) == 0
        assert table.positives == len(scores)


@given(scored)
def test_counts_equal_a_loop_over_thresholds_and_add_up(pairs: list[tuple[float, bool]]) -> None:
    scores, truth = np.array([s for s, _ in pairs]), np.array([t for _, t in pairs])
    table = count_at_thresholds(scores, truth)
    assert table.thresholds.tolist() == sorted(set(scores.tolist()), reverse=True)
    for row, threshold in enumerate(table.thresholds):
        accepted = scores >= threshold
        assert table.true_positives[row] == (accepted & truth).sum()
        assert table.false_positives[row] == (accepted & ~truth).sum()
        rejected = (table.positives - table.true_positives[row]) + (table.negatives - table.false_positives[row])
        assert table.true_positives[row] + table.false_positives[row] + rejected == len(pairs)
    assert (np.diff(table.true_positives) >= 0).all()


@given(scored)
def test_counts_equal_those_of_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    scores, truth = np.array([s for s, _ in pairs]), np.array([t for _, t in pairs])
    table = count_at_thresholds(scores, truth)
    if truth.any() and not truth.all():
        _, fp, _, tp, thresholds = confusion_matrix_at_thresholds(truth, scores)
        keep = np.isfinite(thresholds)
        assert thresholds[keep].tolist() == table.thresholds.tolist()
        assert tp[keep].tolist() == table.true_positives.tolist()
        assert fp[keep].tolist() == table.false_positives.tolist()
    if truth.any():
        precision, recall, thresholds = precision_recall_curve(truth, scores)
        assert thresholds[::-1].tolist() == table.thresholds.tolist()
        assert precision[-2::-1] == pytest.approx(table.precision)
        assert recall[-2::-1] == pytest.approx(table.recall)


@given(scored, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(pairs: list[tuple[float, bool]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (count_at_thresholds(*map(list, zip(*rows, strict=True))) for rows in (pairs, shuffled))
    assert one.thresholds.tolist() == other.thresholds.tolist()
    assert one.true_positives.tolist() == other.true_positives.tolist()


@given(st.lists(st.one_of(st.floats(-1, 1), st.just(-np.inf), st.just(np.nan)), max_size=30), st.floats(-1, 1))
def test_survival_counts_what_is_at_or_above(values: list[float], threshold: float) -> None:
    assert survival(values, [threshold]).tolist() == [sum(value >= threshold for value in values)]
