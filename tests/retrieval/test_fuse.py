"""Fusions on numbers that can be checked by hand, and what each may carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.contract import ScoreContract
from calibration.errors import ContractError, ParameterError
from calibration.retrieval import (
    FUSIONS,
    Candidates,
    Floor,
    adaptive_divisor,
    gate,
    max_possible,
    minmax_per_query,
    rrf,
    weighted_sum,
)
from calibration.retrieval.candidates import PAIR

TABLE = max_possible({"semantic": 1.0, "bm25": 1.0, "entity": 0.5})
absent = st.just(float("nan"))
scores = st.lists(st.one_of(absent, st.floats(0, 1)), min_size=2, max_size=2)


def one_signal(values: list[float], contract: ScoreContract, queries: list[str] | None = None) -> Candidates:
    """Candidates with one signal called `score`."""
    import pandas as pd

    rows = pd.DataFrame(
        {
            "query_id": queries or ["q"] * len(values),
            "doc_id": [f"d{i}" for i in range(len(values))],
            "score": np.array(values, dtype=np.float64),
        }
    )
    assert list(rows.columns[:2]) == PAIR
    return Candidates(sorted(set(rows["query_id"])), rows, {"score": contract})


def test_c43_rrf_is_the_same_for_a_perfect_match_and_for_noise_and_carries_no_floor() -> None:
    on_topic, off_topic = rrf([[1, 1]]), rrf([[1, 1]])
    assert on_topic.round(7).tolist() == off_topic.round(7).tolist() == [0.0327869]
    assert rrf([[1, np.nan]]).round(7).tolist() == [0.0163934]
    held = one_signal([float(on_topic[0]), float(off_topic[0])], FUSIONS["rrf"], ["on", "off"])
    for floor in (0.3, 0.01):
        with pytest.raises(ContractError, match=r"no floor on 'rrf'.*same value as a perfect match.*raw similarity"):
            gate(held, [Floor("score", floor, FUSIONS["rrf"])])


def test_c48_min_max_within_a_query_says_nothing_of_the_query() -> None:
    queries = ["lone", "tied", "tied", "on", "on"]
    values = minmax_per_query([0.11, 0.11, 0.11, 0.47, 0.20], queries)
    assert values.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    held = one_signal(values.tolist(), FUSIONS["minmax_sum"], queries)
    with pytest.raises(ContractError, match=r"no floor on 'minmax_per_query'.*off-topic query the top value"):
        gate(held, [Floor("score", 0.5, FUSIONS["minmax_sum"])])


def test_c49_a_floor_made_for_cosine_does_not_gate_a_weighted_sum() -> None:
    fused = weighted_sum([[0.62, np.nan]], [0.7, 0.3])
    assert fused.round(3).tolist() == [0.434]
    held = one_signal(fused.tolist(), FUSIONS["weighted_sum"])
    with pytest.raises(ContractError, match=r"calibrated on cosine_similarity and cannot gate 'score'.*weighted_sum"):
        gate(held, [Floor("score", 0.5, ScoreContract())])
    own = gate(held, [Floor("score", 0.4, FUSIONS["weighted_sum"])])
    assert own.passed.tolist() == [True]


def test_the_divisor_of_the_seed_follows_the_signals_of_the_query() -> None:
    assert TABLE[frozenset({"semantic"})] == 1.0
    assert TABLE[frozenset({"semantic", "bm25"})] == 2.0
    assert TABLE[frozenset({"semantic", "entity"})] == 1.5
    assert TABLE[frozenset({"semantic", "bm25", "entity"})] == 2.5
    none = float("nan")
    # the same strong match, 0.8, alone and in a query for which every signal is active
    signals = {"semantic": [0.8, 0.8, 0.1], "bm25": [none, none, 0.9], "entity": [none, none, 0.5]}
    found = adaptive_divisor(signals, ["alone", "full", "full"], TABLE)
    assert found.round(3).tolist() == [0.8, 0.32, 0.6]


def test_the_caller_may_name_the_signals_that_are_active() -> None:
    signals = {"semantic": [0.8], "bm25": [float("nan")]}
    table = max_possible({"semantic": 1.0, "bm25": 1.0})
    assert adaptive_divisor(signals, ["q"], table).tolist() == [0.8]
    assert adaptive_divisor(signals, ["q"], table, active={"q": {"semantic", "bm25"}}).tolist() == [0.4]


def test_signals_without_a_divisor_are_named() -> None:
    with pytest.raises(ContractError, match=r"no divisor for the signals bm25\+semantic; there are: semantic"):
        adaptive_divisor({"semantic": [0.8], "bm25": [0.2]}, ["q"], max_possible({"semantic": 1.0}))


def test_zero_is_a_value_and_absence_is_none() -> None:
    none = float("nan")
    assert weighted_sum([[0.0, none], [none, none]], [1.0, 1.0])[0] == 0.0
    assert np.isnan(weighted_sum([[none, none]], [1.0, 1.0])[0])
    assert np.isnan(adaptive_divisor({"semantic": [none]}, ["q"], TABLE)[0])
    assert np.isnan(minmax_per_query([none], ["q"])[0])
    assert adaptive_divisor({"semantic": [0.0]}, ["q"], TABLE).tolist() == [0.0]


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="ranks from 1 up"):
        rrf([[0]])
    with pytest.raises(ParameterError, match="as many finite weights"):
        weighted_sum([[1.0, 2.0]], [1.0])
    with pytest.raises(ParameterError, match="shape"):
        rrf([1, 2])


@given(rows=st.lists(scores, min_size=1, max_size=20))
def test_a_fused_score_is_there_exactly_where_a_signal_is(rows: list[list[float]]) -> None:
    array = np.array(rows)
    there = np.isfinite(array).any(axis=1)
    queries = [f"q{i % 3}" for i in range(len(rows))]
    signals = {"semantic": array[:, 0], "bm25": array[:, 1]}
    for fused in (weighted_sum(array, [0.7, 0.3]), adaptive_divisor(signals, queries, TABLE), rrf(array + 1)):
        assert (np.isfinite(fused) == there).all()


@given(rows=st.lists(scores, min_size=1, max_size=20), order=st.randoms())
def test_the_order_of_rows_changes_no_score(rows: list[list[float]], order: "np.random.Generator") -> None:
    array = np.array(rows)
    queries = np.array([f"q{i % 3}" for i in range(len(rows))])
    moved = list(range(len(rows)))
    order.shuffle(moved)

    def fused(chosen: list[int]) -> np.ndarray:
        part = {"semantic": array[chosen, 0], "bm25": array[chosen, 1]}
        stretched = minmax_per_query(array[chosen, 0], queries[chosen])
        return np.column_stack([adaptive_divisor(part, queries[chosen], TABLE), stretched])

    assert np.array_equal(fused(moved), fused(list(range(len(rows))))[moved], equal_nan=True)
