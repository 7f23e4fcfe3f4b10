"""Every other policy on the same queries: what it would choose, in sample and held out."""

import numpy as np
import pytest
from handmade import Row, bands_of, calibration_of, labels_of

from calibration.choose import LARGEST_GAP, POLICIES
from calibration.studies.model import Calibration

ASKED_FOR = (
    "low in the extreme gap", "max F0.5", "max F1", "max F2", "equal error rate", "target recall 95 %",
    "conformal 90 %", "fixed 0.78", "top-K only", LARGEST_GAP,
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> Calibration:
    rng = np.random.default_rng(8)
    labels, rows = bands_of(rng.normal(0.55, 0.1, 40).tolist(), rng.normal(0.3, 0.08, 40).tolist())
    rows += [(query, f"{doc}-{i}", score - 0.03 * (i + 1)) for query, doc, score in list(rows) for i in range(3)]
    return calibration_of(labels, rows)


def test_every_policy_that_was_asked_for_is_there_with_counts_seen_and_held_out(found: Calibration) -> None:
    table = found.policies.set_index("policy")
    assert table.index.tolist() == ["recommended", *POLICIES, LARGEST_GAP]
    assert set(ASKED_FOR) <= set(table.index)
    costs = found.costs
    for seen, cost in (("", "cost"), ("_held_out", "cost_held_out")):
        misses = 1 - table[f"hits{seen}"] / table["n_answerable"]
        false = table[f"false_answers{seen}"] / table["n_far_noise"]
        expected = costs.miss_weight * misses + costs.false_weight * false
        assert np.allclose(expected, table[cost])
    assert found.held_out is not None
    held = found.held_out.rates
    ours = table.loc["recommended"]
    assert ours["hits_held_out"] == held["hit_rate"].numerator
    assert ours["false_answers_held_out"] == held["false_answer_rate_off_topic"].numerator


def test_the_largest_gap_cuts_each_list_and_refuses_nothing() -> None:
    queries = {"a": "answerable", "b": "answerable", "c": "answerable", "o": "off_topic"}
    rows: list[Row] = [("a", "x", 0.9), ("a", "y", 0.8), ("a", "z", 0.3), ("a", "w", 0.29)]  # cut after y
    rows += [("b", "x", 0.9), ("b", "y", 0.5), ("b", "z", 0.45)]  # cut after x
    rows += [("c", "x", 0.7)]
    rows += [("o", "x", 0.1), ("o", "y", 0.09)]
    labels = labels_of(queries, [("a", "y", 1), ("b", "y", 1), ("c", "x", 1)])
    found = calibration_of(labels, rows, top_k=3)
    row = found.policies.set_index("policy").loc[LARGEST_GAP]
    assert (row["hits"], row["n_answerable"], row["hits_held_out"]) == (2, 3, 2)
    assert (row["false_answers"], row["n_far_noise"]) == (1, 1)
    assert not row["offers"]
    assert np.isnan(row["floor"])
    assert row["cost"] == row["cost_held_out"] == pytest.approx(1.5 / 3 + 0.5)


def test_the_largest_gap_looks_one_passage_beyond_the_cap() -> None:
    rows: list[Row] = [("a", "x", 0.9), ("a", "y", 0.8), ("a", "z", 0.2), ("b", "x", 0.9), ("o", "x", 0.1)]
    labels = labels_of({"a": "answerable", "b": "answerable", "o": "off_topic"}, [("a", "y", 1), ("b", "x", 1)])
    hits = [
        calibration_of(labels, rows, top_k=cap).policies.set_index("policy").loc[LARGEST_GAP, "hits"] for cap in (1, 2)
    ]
    assert hits == [1, 2]
