"""One rule under every metric: the same documents, whatever their scores are called."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

from calibration.contract import (
    METRICS,
    UNIT,
    Refusal,
    ScoreContract,
    conversions,
    convert,
    convert_scores,
    refusals,
    tolerance_for,
)
from calibration.errors import ContractError

COSINES = [name for name, metric in METRICS.items() if metric.to_cosine is not None]
CONTRACTS = [
    *(ScoreContract(name) for name in COSINES),
    ScoreContract(score_transform="(1+cos)/2"),
    ScoreContract("squared_l2", score_transform="1/(1+d)"),
    ScoreContract("l2", score_transform="1/(1+d^2)"),
    ScoreContract("l2", score_transform="1-d/sqrt(2)"),
    ScoreContract("l2", score_transform="exp(-d)"),
    ScoreContract("inner_product", score_transform="1+dot if dot>=0 else 1/(1-dot)"),
    ScoreContract("negative_inner_product", score_transform="affine:-3,0.5"),
]
names = [f"{one.metric} {one.score_transform}" for one in CONTRACTS]
floors = st.floats(-0.99, 0.99)
seeds = st.integers(0, 2**32 - 1)
Vectors = npt.NDArray[np.float64]


def unit(rng: np.random.Generator, count: int, width: int) -> Vectors:
    found = rng.normal(size=(count, width))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def scored(contract: ScoreContract, query: Vectors, documents: Vectors) -> Vectors:
    """Raw scores as a backend computes them: from the vectors, by the metric's own definition."""
    product = documents @ query
    lengths = np.linalg.norm(documents, axis=1) * np.linalg.norm(query)
    value = {
        "cosine_similarity": product / lengths,
        "cosine_distance": 1.0 - product / lengths,
        "l2": np.linalg.norm(documents - query, axis=1),
        "squared_l2": ((documents - query) ** 2).sum(axis=1),
        "inner_product": product,
        "negative_inner_product": -product,
    }[contract.metric]
    raw: Vectors = contract.transform.forward(value)
    return raw


@pytest.mark.parametrize("new", CONTRACTS, ids=names)
@given(seed=seeds, floor=floors, inclusive=st.booleans())
@settings(max_examples=25)
def test_converted_rules_accept_the_same_documents(
    new: ScoreContract, seed: int, floor: float, inclusive: bool
) -> None:
    rng = np.random.default_rng(seed)
    query, documents = unit(rng, 1, 8)[0], unit(rng, 60, 8)
    cosine = documents @ query
    old = ScoreContract(threshold_inclusive=inclusive)
    found = convert(floor, old, new)
    raw = scored(new, query, documents)
    plain = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}[found.comparison]
    clear = np.abs(cosine - floor) > 1e-6
    assert (plain(raw, found.value) == (cosine >= floor))[clear].all()
    on_boundary = (raw >= found.boundary[0]) & (raw <= found.boundary[1])
    assert not on_boundary[np.abs(cosine - floor) > 1.001e-6].any()
    # and by the contract, boundary included
    target = ScoreContract(new.metric, threshold_inclusive=inclusive, score_transform=new.score_transform)
    by_contract = target.accept(target.similarity(raw), target.similarity_of(found.value))
    assert (by_contract == old.accept(cosine, floor)).all()


@pytest.mark.parametrize("new", CONTRACTS, ids=names)
@pytest.mark.parametrize("old", CONTRACTS, ids=names)
def test_thresholds_and_scores_go_there_and_back_at_full_precision(old: ScoreContract, new: ScoreContract) -> None:
    for cosine in (-0.75, 0.0, 0.8, 0.999):
        start = old.raw(cosine)
        there = convert(start, old, new)
        assert convert(there.value, new, old).value == pytest.approx(start, rel=1e-13, abs=1e-13)
        scores = convert_scores([start, old.raw(0.5)], old, new)
        assert scores.tolist() == pytest.approx([there.value, new.raw(0.5)], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("new", CONTRACTS, ids=names)
@pytest.mark.parametrize("old", CONTRACTS, ids=names)
@given(values=st.lists(st.floats(-0.999, 0.999), min_size=2, max_size=15, unique=True))
@settings(max_examples=10)
def test_c08_different_raw_scores_never_become_equal(
    old: ScoreContract, new: ScoreContract, values: list[float]
) -> None:
    cosine = np.array(sorted(values))
    cosine = cosine[np.concatenate([[True], np.diff(cosine) > 1e-9])]
    raw = np.array([old.raw(float(value)) for value in cosine])
    converted = convert_scores(raw, old, new)
    assert len(set(converted.tolist())) == len(set(raw.tolist()))
    steps = np.diff(converted)
    assert (steps > 0).all() if new.higher_is_better else (steps < 0).all()


def test_c08_squared_distances_above_one_stay_apart() -> None:
    assert convert_scores([0.5, 1.3, 1.9], ScoreContract("squared_l2"), ScoreContract()).tolist() == pytest.approx(
        [0.75, 0.35, 0.05]
    )


def test_digits_of_nearly_equal_vectors_survive_between_distances() -> None:
    tiny = [1e-10, 3e-10]
    found = convert_scores(tiny, ScoreContract("l2"), ScoreContract("squared_l2"))
    assert found.tolist() == pytest.approx([1e-20, 9e-20], rel=1e-12, abs=0)
    assert convert(1e-10, ScoreContract("l2"), ScoreContract("cosine_distance")).value == pytest.approx(5e-21, abs=0)


def test_c10_cosines_a_hair_above_one_stay_apart_there_and_back() -> None:
    hair = [1.0000001192092896, 1.0000002, 1.0]
    for metric in ("l2", "squared_l2", "cosine_distance"):
        there = convert_scores(hair, ScoreContract(), ScoreContract(metric))
        assert len(set(there.tolist())) == 3
        back = convert_scores(there, ScoreContract(metric), ScoreContract())
        assert back.tolist() == pytest.approx(hair, rel=1e-15)
    boundary = convert(1.0, ScoreContract(), ScoreContract("l2")).boundary
    assert boundary == pytest.approx((-(2e-6**0.5), 2e-6**0.5))


def test_a_distance_below_zero_is_no_distance() -> None:
    assert ScoreContract("l2").similarity([0.5]).tolist() == [0.875]
    with pytest.raises(ContractError, match=r"outside \[-1, 1\] for a cosine"):
        ScoreContract("l2").similarity([-0.5])


def test_a_conversion_that_would_make_scores_equal_is_refused() -> None:
    logit, sigmoid = ScoreContract("reranker_logit"), ScoreContract("reranker_logit", score_transform="sigmoid")
    with pytest.raises(ContractError, match=r"different scores become equal as sigmoid .*, 1 times, such as 40 and 41"):
        convert_scores([40.0, 41.0, 0.0], logit, sigmoid)
    with pytest.raises(ContractError, match="50 has no equal as sigmoid of reranker_logit: the transform saturates"):
        convert(50.0, logit, sigmoid)
    dot = ScoreContract("negative_inner_product", normalisation="none")
    with pytest.raises(ContractError, match=r"2 of 3 scores have no equal as exp\(-d\) .*leave the range of numbers"):
        convert_scores([-1000.0, -2000.0, 1.0], dot, replace(dot, score_transform="exp(-d)"))


def test_a_threshold_a_hair_beyond_the_best_score_has_no_distance() -> None:
    for metric in ("l2", "squared_l2", "cosine_distance"):
        with pytest.raises(
            ContractError, match=rf"1\.0000001 has no equal as {metric}: it would be -.*, outside \[0, "
        ):
            convert(1.0000001, ScoreContract(), ScoreContract(metric))
    assert convert(1.0000001, ScoreContract(), ScoreContract("inner_product")).value == 1.0000001


def test_missing_scores_stay_missing_and_zero_stays_a_score() -> None:
    found = convert_scores([0.0, np.nan, 1.0, np.inf], ScoreContract("cosine_distance"), ScoreContract())
    assert found[[0, 2]].tolist() == [1.0, 0.0]
    assert np.isnan(found[[1, 3]]).all()
    assert np.isnan(convert_scores([np.inf, np.inf, -np.inf, -np.inf], ScoreContract(), ScoreContract("l2"))).all()
    assert convert_scores([], ScoreContract(), ScoreContract("l2")).tolist() == []


def test_c01_c02_thresholds_as_the_cases_state_them() -> None:
    distance = convert(0.7, ScoreContract(), ScoreContract("cosine_distance"))
    assert (distance.comparison, distance.value) == ("<=", 0.3)
    squared = convert(0.6, ScoreContract(), ScoreContract("squared_l2"))
    assert (squared.comparison, squared.value) == ("<=", 0.8)
    plain = convert(0.6, ScoreContract(), ScoreContract("l2"))
    assert plain.value == pytest.approx(0.894427, abs=1e-6)
    with pytest.raises(ContractError, match="unknown metric 'euclidean_score'"):
        convert(0.6, ScoreContract(), ScoreContract("euclidean_score"))


def test_c04_the_operators_inner_product_is_negative() -> None:
    found = convert(0.7, ScoreContract("inner_product"), ScoreContract("negative_inner_product"))
    assert (found.comparison, found.value) == ("<=", -0.7)
    assert found.snippet == "WHERE vector_norm(embedding::vector) > 0 AND embedding <#> $1 <= -0.7"
    assert ScoreContract("negative_inner_product").accept([0.800000011920929], 0.7).tolist() == [True]


def test_c11_c12_no_cosine_from_vectors_that_are_not_of_unit_length() -> None:
    for metric in ("l2", "squared_l2", "inner_product", "negative_inner_product"):
        for given_length, who in (
            ("none", "neither query nor document vectors are"),
            ("query_unit_l2", "the document vectors are not"),
            ("document_unit_l2", "the query vectors are not"),
        ):
            side = ScoreContract(metric, normalisation=given_length)  # type: ignore[arg-type]
            with pytest.raises(Refusal, match=rf"'{metric}' says nothing about a cosine.*{who}"):
                convert(0.8, ScoreContract(normalisation=given_length), side)  # type: ignore[arg-type]


def test_what_holds_for_vectors_of_any_length_is_converted() -> None:
    cosine, distance = ScoreContract(normalisation="none"), ScoreContract("cosine_distance", normalisation="none")
    assert convert(0.8, cosine, distance).value == 0.2
    long, squared = ScoreContract("l2", normalisation="none"), ScoreContract("squared_l2", normalisation="none")
    assert (convert(3.0, long, squared).value, convert(9.0, squared, long).value) == (9.0, 3.0)
    rng = np.random.default_rng(3)
    query, documents = rng.normal(size=5), rng.normal(size=(20, 5))
    there = convert_scores(scored(long, query, documents), long, squared)
    assert there == pytest.approx(scored(squared, query, documents))
    with pytest.raises(Refusal, match=r"normalisation differs.*l2 of vectors of other lengths"):
        convert(3.0, long, ScoreContract("l2"))
    with pytest.raises(Refusal, match="'l2' says nothing about a cosine"):
        convert(3.0, long, ScoreContract("inner_product", normalisation="none"))


def test_c21_one_tolerance_gives_one_decision_on_four_byte_and_two_byte_floats() -> None:
    rng = np.random.default_rng(7)
    for width in (2, 64, 384):
        query, documents = unit(rng, 1, width)[0], unit(rng, 1, width)[0]
        # pairs all around one another, up to nearly equal
        near = np.array([query + step * documents for step in np.linspace(0.0, 3.0, 400)])
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        cosine = near @ query
        for storage, kind in (("vector", np.float32), ("halfvec", np.float16)):
            tolerance = tolerance_for(storage, width)
            for name in COSINES:
                contract = ScoreContract(name, tolerance=tolerance)
                stored = scored(contract, query.astype(kind).astype(float), near.astype(kind).astype(float))
                moved = np.abs(contract.definition.to_cosine(stored) - cosine)  # type: ignore[misc]
                assert moved.max() < tolerance, (width, storage, name)
    with pytest.raises(ContractError, match="unknown storage type 'bit'"):
        tolerance_for("bit", 8)


def test_c21_the_boundary_widens_as_the_metric_does() -> None:
    exact = ScoreContract(tolerance=1e-6)
    squared = convert(0.8, exact, ScoreContract("squared_l2"))
    assert squared.boundary == (0.399998, 0.400002)
    far, close = (convert(floor, exact, ScoreContract("l2")).boundary for floor in (0.0, 0.99))
    assert close[1] - close[0] > 5 * (far[1] - far[0])
    assert exact.boundary(0.8) == (0.799999, 0.800001)


@pytest.mark.parametrize(("distance", "floor"), [(0.2, 0.8), (0.1, 0.9), (0.3, 0.7)])
def test_c22_the_converted_cut_is_the_number_as_it_is_written(distance: float, floor: float) -> None:
    found = convert(floor, ScoreContract(), ScoreContract("cosine_distance"))
    assert (found.value, found.comparison, found.inclusive) == (distance, "<=", True)
    strict = convert(floor, ScoreContract(threshold_inclusive=False), ScoreContract("cosine_distance"))
    assert (strict.value, strict.comparison, strict.inclusive) == (distance, "<", False)


def test_c23_c26_thresholds_of_zero_and_percentages() -> None:
    assert convert(0.0, ScoreContract(), ScoreContract("squared_l2")).value == 2.0
    with pytest.raises(ContractError, match=r"threshold 78 is outside \[-1, 1\].*Did you mean 0\.78\?"):
        convert(78, ScoreContract(), ScoreContract("l2"))
    with pytest.raises(ContractError, match=r"threshold 4\.5 is outside \[0, 4\] for squared_l2 of unit vectors\.$"):
        convert(4.5, ScoreContract("squared_l2"), ScoreContract())
    with pytest.raises(ContractError, match=r"threshold 2\.5 is outside \[0, 2\] for cosine_distance\.$"):
        convert(2.5, ScoreContract("cosine_distance"), ScoreContract())
    with pytest.raises(ContractError, match=r"threshold -1 is outside \[0, inf\] for l2"):
        convert(-1.0, ScoreContract("l2", normalisation="none"), ScoreContract("squared_l2", normalisation="none"))
    for broken in (np.nan, np.inf):
        with pytest.raises(ContractError, match="not a finite number"):
            convert(broken, ScoreContract(), ScoreContract("l2"))
    with pytest.raises(ContractError, match=r"threshold 0 is outside \(0, inf\)"):
        convert(0.0, ScoreContract("l2", score_transform="1/(1+d)"), ScoreContract())


def test_c41_no_formula_leads_from_one_model_to_another() -> None:
    old, new = ScoreContract(embedding_version="model-a"), ScoreContract(embedding_version="model-b")
    with pytest.raises(Refusal, match=r"different embedding_version \('model-a', then 'model-b'\).*recalibrate"):
        convert(0.78, old, new)
    with pytest.raises(Refusal, match="different embedding_version"):
        convert_scores([0.77, 0.78, 0.79], old, new)
    with pytest.raises(Refusal, match="declare it on both sides"):
        convert(0.78, old, ScoreContract())


@pytest.mark.parametrize(("metric", "why"), [("rrf", "depends on ranks only"), ("minmax_per_query", "own list")])
def test_c43_c48_rank_only_scores_have_no_equal(metric: str, why: str) -> None:
    for old, new in ((ScoreContract(), ScoreContract(metric)), (ScoreContract(metric), ScoreContract())):
        with pytest.raises(Refusal, match=rf"no floor on '{metric}': .*{why}"):
            convert(0.3, old, new)


def test_c46_a_rerankers_floor_moves_between_its_own_scales_only() -> None:
    sigmoid, logit = ScoreContract("reranker_logit", score_transform="sigmoid"), ScoreContract("reranker_logit")
    found = convert(0.5, sigmoid, logit)
    assert (found.comparison, found.value) == (">=", 0.0)
    logits = np.array([8.15, 0.3, -2.0, -8.3])
    assert convert_scores(logits, logit, sigmoid).round(6).tolist() == [0.999711, 0.574443, 0.119203, 0.000248]
    assert logit.accept(logit.similarity(logits), found.value).tolist() == [True, True, False, False]
    for metric in ("reranker_logit", "vendor_relevance", "score"):
        with pytest.raises(Refusal, match=f"'{metric}' does not convert: .*"):
            convert(0.5, ScoreContract(metric), ScoreContract())


def test_all_reasons_are_given_at_once() -> None:
    reasons = refusals(
        ScoreContract("inner_product", normalisation="none", embedding_version="a"),
        ScoreContract("reranker_logit", embedding_version="b"),
    )
    assert [words for reason in reasons for words in ("embedding_version", "inner_product", "does not convert")
            if words in reason] == ["embedding_version", "inner_product", "does not convert"]  # fmt: skip


def test_scores_no_vectors_can_give_are_refused() -> None:
    with pytest.raises(ContractError, match=r"outside \[-1, 1\] for a cosine"):
        convert_scores([7.0], ScoreContract("inner_product"), ScoreContract("l2"))


@pytest.mark.parametrize("metric", ["<=>", "<->", "<#>"])
def test_an_operator_is_no_metric_but_its_metric_is_named(metric: str) -> None:
    right = {"<=>": "cosine_distance", "<->": "l2", "<#>": "negative_inner_product"}[metric]
    with pytest.raises(ContractError, match=f"is an operator, not a metric; it returns '{right}'"):
        ScoreContract(metric)
    with pytest.raises(ContractError, match="taxicab distance"):
        ScoreContract("<+>")
    with pytest.raises(ContractError, match=r"'cosine_similarity' .*or 'cosine_distance'"):
        ScoreContract("cosine")


def test_a_contract_with_a_transform_lists_its_own_number_first() -> None:
    rows = conversions(0.7, ScoreContract(score_transform="(1+cos)/2"))
    assert rows[0] == {"metric": "(1+cos)/2 of cosine_similarity", "operator": ">=", "value": 0.85}
    assert [row["metric"] for row in rows[1:]] == COSINES


@pytest.mark.parametrize("new", CONTRACTS, ids=names)
def test_the_snippet_compares_with_the_unrounded_value_and_guards_a_cosine(new: ScoreContract) -> None:
    found = convert(0.8, ScoreContract(), new)
    assert f"{found.comparison} {found.value!r}" in found.snippet
    in_sql = new.score_transform == "none" and new.metric != "squared_l2"
    assert ("WHERE vector_norm(embedding::vector) > 0 AND" in found.snippet) == in_sql


def test_a_contract_that_cannot_be_is_refused_with_all_that_is_wrong() -> None:
    with pytest.raises(ContractError) as refused:
        ScoreContract("l3", normalisation="unit", unscored="zero", tolerance=-1.0)  # type: ignore[arg-type]
    for words in ("unknown metric 'l3'", "normalisation is 'unit'", "unscored is 'zero'", "tolerance is -1.0"):
        assert words in str(refused.value)
    assert ScoreContract(normalisation=UNIT, tolerance=0.0).tolerance == 0.0
