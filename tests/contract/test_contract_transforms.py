"""What adapters make of a metric's value, and the way back."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from calibration.contract import METRICS, TRANSFORMS, Metric, ScoreContract, Transform, transform_named
from calibration.errors import ContractError

PAIRS = [
    (metric, transform)
    for metric in METRICS.values()
    if metric.to_cosine is not None or metric.name == "reranker_logit"  # every range and direction there is
    for transform in TRANSFORMS.values()
    if np.isinf(transform.above) or metric.low > transform.above
]
ids = [f"{metric.name} {transform.name}" for metric, transform in PAIRS]


@pytest.mark.parametrize(("metric", "transform"), PAIRS, ids=ids)
@given(values=st.lists(st.floats(-4.0, 4.0), min_size=2, max_size=20))
@settings(max_examples=25)
def test_every_transform_is_strictly_monotone_and_has_its_inverse(
    metric: Metric, transform: Transform, values: list[float]
) -> None:
    value = np.clip(np.array(values), metric.low, metric.high)
    score = transform.forward(value)
    transform.check_scores(score)
    # a root near zero keeps half the digits
    assert transform.inverse(score) == pytest.approx(value, abs=1e-6)
    order = np.sign(np.subtract.outer(value, value))
    clear = np.abs(np.subtract.outer(value, value)) > 1e-6
    found = np.sign(np.subtract.outer(score, score))
    assert (found == (order if transform.increasing else -order))[clear].all()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_one_exact_number_and_an_array_follow_the_same_formula(name: str) -> None:
    contract = ScoreContract("l2", score_transform=name)
    for cosine in (-0.5, 0.1, 0.8):
        raw = contract.raw(cosine)
        assert contract.similarity([raw]).tolist() == pytest.approx([cosine], abs=1e-12)
        assert contract.similarity_of(raw) == pytest.approx(cosine, abs=1e-15)


def test_c06_a_search_engines_score_is_undone_before_it_meets_a_floor() -> None:
    contract = ScoreContract(score_transform="(1+cos)/2")
    similarity = contract.similarity([0.92, 0.80, 0.60])
    assert similarity == pytest.approx([0.84, 0.60, 0.20])
    assert (contract.raw(0.7), contract.comparison) == (0.85, ">=")
    assert contract.accept(similarity, 0.7).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("metric", "formula", "value", "score"),
    [
        ("cosine_similarity", "(1+cos)/2", 0.6, 0.8),
        ("inner_product", "(1+dot)/2", 0.6, 0.8),
        ("cosine_similarity", "1+cos", 0.6, 1.6),
        ("cosine_distance", "(2-d)/2", 0.4, 0.8),
        ("cosine_distance", "1-d", 0.4, 0.6),
        ("inner_product", "1-dot", 0.6, 0.4),
        ("squared_l2", "1/(1+d)", 0.25, 0.8),
        ("l2", "1/(1+d^2)", 0.5, 0.8),
        ("l2", "1 / (1 + d**2)", 0.5, 0.8),
        ("cosine_distance", "1/(1+d)", 0.25, 0.8),
        ("l2", "1-d/sqrt(2)", np.sqrt(0.5), 0.5),
        ("l2", "exp(-d)", 1.0, np.exp(-1.0)),
        ("inner_product", "1+dot if dot>=0 else 1/(1-dot)", 0.6, 1.6),
        ("inner_product", "1+dot if dot>=0 else 1/(1-dot)", -0.25, 0.8),
        ("negative_inner_product", "1-d if d<0 else 1/(1+d)", -0.6, 1.6),
        ("negative_inner_product", "1-d if d<0 else 1/(1+d)", 0.25, 0.8),
        ("reranker_logit", "sigmoid", 0.0, 0.5),
        ("reranker_logit", "1/(1+exp(-logit))", 0.0, 0.5),
        ("score", "affine:100,-5", 0.5, 45.0),
    ],
)
def test_formulas_as_backends_state_them(metric: str, formula: str, value: float, score: float) -> None:
    transform = transform_named(formula, METRICS[metric])
    assert float(transform.forward(np.array(value))) == pytest.approx(score)


def test_direction_follows_from_the_formula() -> None:
    assert ScoreContract("l2", score_transform="1/(1+d)").higher_is_better
    assert not ScoreContract("l2").higher_is_better
    assert not ScoreContract("inner_product", score_transform="1-dot").higher_is_better
    assert ScoreContract("cosine_distance", score_transform="affine:-1,1").to_dict()["higher_is_better"] is True


def test_c03_the_formula_that_runs_the_wrong_way_is_lower_is_better() -> None:
    contract = ScoreContract("l2", normalisation="none", score_transform="1-exp(-d)")
    assert not contract.higher_is_better
    similarity = contract.similarity([0.0, 0.1813, 0.5507])
    assert similarity.tolist() == sorted(similarity, reverse=True)


@pytest.mark.parametrize(
    ("metric", "formula", "why"),
    [
        ("l2", "max(0,1-d)", "makes different scores equal"),
        ("squared_l2", "min(d,1)", "makes different scores equal"),
        ("inner_product", "1-x if x>0 else -x", "not monotone: it gives 0.5 for 0.5 and for -0.5"),
        ("cosine_similarity", "1/(1+x)", "not monotone on 'cosine_similarity'"),
        ("cosine_distance", "(1+cos)/2", r"a formula of cos, but the metric is 'cosine_distance'.*call 'd'"),
        ("l2", "affine:0,1", "all scores would be equal"),
        ("l2", "affine:nan,1", "must be finite"),
        ("l2", "affine:1e-400,1", "all scores would be equal"),
        ("l2", "affine:1e400,1", "must be finite"),
        ("l2", "affine:2", "expected affine:a,b"),
        ("l2", "1/(1+dd)", r"unknown score_transform.*did you mean '1/\(1\+x\)'"),
        ("l2", "cos similarity", "unknown score_transform"),
    ],
)
def test_c08_formulas_without_a_way_back_are_refused_by_name(metric: str, formula: str, why: str) -> None:
    with pytest.raises(ContractError, match=why):
        ScoreContract(metric, score_transform=formula)


def test_scores_a_formula_cannot_give_are_refused_not_dropped() -> None:
    contract = ScoreContract("l2", score_transform="1/(1+d)")
    with pytest.raises(ContractError, match=r"1 of 3 scores lie outside \(0, inf\), all that 1/\(1\+x\) can give"):
        contract.similarity([0.5, 0.0, 0.9])
    assert np.isnan(contract.similarity([0.5, np.nan])).tolist() == [False, True]


def test_formula_and_metric_that_no_vectors_fit_are_an_error() -> None:
    with pytest.raises(ContractError, match=r"outside \[-1, 1\] for a cosine"):
        ScoreContract(score_transform="(1+cos)/2").similarity([1.6])
