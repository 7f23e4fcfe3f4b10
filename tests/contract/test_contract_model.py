"""What a score means, and what it can be turned into."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibration.contract import METRICS, ScoreContract, check_floor_in_range, conversions, metric_named
from calibration.errors import ContractError

COSINES = [name for name, metric in METRICS.items() if metric.to_cosine is not None]
similarities = st.floats(-1.0, 1.0, allow_nan=False)


@pytest.mark.parametrize("name", COSINES)
@given(values=st.lists(similarities, min_size=1, max_size=20), floor=similarities)
def test_conversions_keep_order_and_accepted_set(name: str, values: list[float], floor: float) -> None:
    contract, metric = ScoreContract(name), metric_named(name)
    assert metric.from_cosine is not None
    raw = metric.from_cosine(np.array(values))
    back = contract.similarity(raw)
    assert back == pytest.approx(values, abs=1e-12)
    far = np.abs(np.subtract.outer(values, values)) > 1e-12
    order = np.sign(np.subtract.outer(values, values))
    assert (np.sign(np.subtract.outer(back, back)) == order)[far].all()
    row = {row["metric"]: row for row in conversions(floor, contract)}[name]
    accepts = np.greater_equal if row["operator"] == ">=" else np.less_equal
    clear = np.abs(np.array(values) - floor) > 2e-6
    assert (accepts(raw, row["value"]) == contract.accept(back, floor))[clear].all()


@given(st.lists(similarities, min_size=2, max_size=20, unique=True))
def test_c08_different_scores_stay_different(values: list[float]) -> None:
    apart = [value for value in values if min(abs(value - other) for other in values if other != value) > 1e-9]
    raw = metric_named("squared_l2").from_cosine
    assert raw is not None
    assert len(set(ScoreContract("squared_l2").similarity(raw(np.array(apart))).tolist())) == len(apart)


def test_conversions_name_the_comparison_that_accepts() -> None:
    rows = {row["metric"]: (row["operator"], row["value"]) for row in conversions(0.6, ScoreContract())}
    assert rows["squared_l2"] == ("<=", pytest.approx(0.8))
    assert rows["l2"] == ("<=", pytest.approx(0.894427, abs=1e-6))
    assert rows["negative_inner_product"] == ("<=", -0.6)
    assert rows["inner_product"] == (">=", 0.6)
    exclusive = conversions(0.6, ScoreContract(threshold_inclusive=False))
    assert {row["operator"] for row in exclusive} == {">", "<"}


def test_vectors_that_are_not_of_unit_length_convert_to_cosine_distance_only() -> None:
    contract = ScoreContract("cosine_similarity", normalisation="none")
    assert [row["metric"] for row in conversions(0.6, contract)] == ["cosine_similarity", "cosine_distance"]
    plain = ScoreContract("l2", normalisation="none")
    assert plain.scale == "negated l2"
    assert plain.similarity([3.0, 0.0]).tolist() == [-3.0, 0.0]
    assert conversions(-3.0, plain) == [{"metric": "l2", "operator": "<=", "value": 3.0}]


def test_c10_a_hair_above_one_is_a_cosine_and_is_kept_as_it_is() -> None:
    values = [1.0000001192092896, 0.9999998807907104, 0.49]
    assert ScoreContract().similarity(values).tolist() == values
    with pytest.raises(ContractError, match=r"1 of 2 values lie outside \[-1, 1\].*1\.02"):
        ScoreContract().similarity([1.02, 0.98])


def test_c26_a_percentage_is_no_floor() -> None:
    with pytest.raises(ContractError, match=r"floor 78 is outside \[-1, 1\].*Did you mean 0\.78\?"):
        check_floor_in_range(78, ScoreContract())
    check_floor_in_range(78, ScoreContract("score"))
    with pytest.raises(ContractError, match=r"floor 1\.5 is outside \[-1, 1\] for cosine similarity\.$"):
        check_floor_in_range(1.5, ScoreContract())
    with pytest.raises(ContractError, match="not a finite number"):
        check_floor_in_range(float("nan"), ScoreContract())


@pytest.mark.parametrize(
    ("metric", "why"), [("rrf", "depends on ranks only"), ("minmax_per_query", "off-topic query the top value")]
)
def test_c43_c48_a_floor_on_a_score_that_says_nothing_is_refused_with_the_reason(metric: str, why: str) -> None:
    contract = ScoreContract(metric)
    for use in (
        lambda: contract.similarity([2 / 61]),
        lambda: contract.accept([2 / 61], 0.3),
        lambda: contract.raw(0.3),
        lambda: conversions(0.3, contract),
        lambda: check_floor_in_range(0.3, contract),
    ):
        with pytest.raises(ContractError, match=rf"no floor on '{metric}': .*{why}.*raw similarity"):
            use()
    assert contract.accept([2 / 61], None).tolist() == [True]


def test_c02_an_unknown_metric_is_refused_never_guessed() -> None:
    with pytest.raises(ContractError, match=r"unknown metric 'euclidean_score'.*Known metrics: cosine_similarity"):
        ScoreContract("euclidean_score")
    with pytest.raises(ContractError, match=r"did you mean 'inner_product'\?"):
        ScoreContract("inner_produkt")
    assert ScoreContract("squared_l2").similarity([0.4, 1.6]) == pytest.approx([0.8, 0.2])
    assert ScoreContract("l2").similarity([0.4, 1.6]) == pytest.approx([0.92, -0.28])


def test_c01_a_distance_is_turned_before_it_meets_a_floor() -> None:
    contract = ScoreContract("cosine_distance")
    assert contract.accept(contract.similarity([0.05, 0.25, 0.85]), 0.7).tolist() == [True, True, False]
    assert contract.raw(0.7) == pytest.approx(0.3)


def test_zero_and_missing_stay_apart() -> None:
    similarity = ScoreContract("cosine_distance").similarity([1.0, np.nan])
    assert similarity[0] == 0.0
    assert np.isnan(similarity[1])


def test_the_contract_as_json_names_direction_and_scale() -> None:
    said = ScoreContract("negative_inner_product", embedding_version="m1").to_dict()
    assert (said["higher_is_better"], said["scale"], said["embedding_version"]) == (False, "cosine similarity", "m1")


def test_a_floor_typed_as_a_distance_is_found_where_distances_are_negated() -> None:
    for metric in ("l2", "squared_l2"):
        contract = ScoreContract(metric, normalisation="none")
        with pytest.raises(ContractError, match=rf"floor 0\.5 is above 0, .* negated {metric} can be.*-0\.5"):
            check_floor_in_range(0.5, contract)
        check_floor_in_range(-0.5, contract)
        check_floor_in_range(0.0, contract)
    check_floor_in_range(5.0, ScoreContract("negative_inner_product", normalisation="none"))
