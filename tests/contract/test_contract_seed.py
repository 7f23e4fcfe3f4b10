"""The migration that passes a ranking test: same order, other decisions. In exact arithmetic on three documents."""

import numpy as np
import numpy.typing as npt
import pytest

from calibration.contract import UNIT, ScoreContract, convert
from calibration.errors import ContractError

QUERY = np.array([1.0, 0.0])
DOCUMENTS = {"A": (0.9, np.sqrt(0.19)), "B": (0.7, np.sqrt(0.51)), "C": (0.3, np.sqrt(0.91))}
LONG = np.array([7.0, np.sqrt(51.0)])
METRICS = ["cosine_similarity", "cosine_distance", "l2", "squared_l2", "inner_product", "negative_inner_product"]


def raw(metric: str, kind: type = np.float64) -> npt.NDArray[np.float64]:
    vectors = np.array(list(DOCUMENTS.values())).astype(kind).astype(np.float64)
    product = vectors @ QUERY
    cosine = product / np.linalg.norm(vectors, axis=1)
    apart = np.linalg.norm(vectors - QUERY, axis=1)
    return np.array(
        {
            "cosine_similarity": cosine, "cosine_distance": 1 - cosine, "l2": apart, "squared_l2": apart**2,
            "inner_product": product, "negative_inner_product": -product,
        }[metric]
    )  # fmt: skip


def accepted(contract: ScoreContract, scores: npt.NDArray[np.float64], threshold: float) -> str:
    found = contract.accept(contract.similarity(scores), contract.similarity_of(threshold))
    return "".join(name for name, passes in zip(DOCUMENTS, found, strict=True) if passes)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("metric", METRICS)
def test_a_alone_is_accepted_at_eight_tenths_under_every_metric(metric: str, kind: type) -> None:
    contract = ScoreContract(metric)
    threshold = convert(0.8, ScoreContract(), contract).value
    assert accepted(contract, raw(metric, kind), threshold) == "A"


@pytest.mark.parametrize("metric", METRICS)
def test_every_directed_sort_gives_the_same_order(metric: str) -> None:
    order = np.argsort(-ScoreContract(metric).similarity(raw(metric)), kind="stable")
    assert order.tolist() == [0, 1, 2]


def test_the_copied_number_admits_b_and_the_copied_direction_refuses_all() -> None:
    assert accepted(ScoreContract("squared_l2"), raw("squared_l2"), 0.8) == "AB"
    assert [name for name, score in zip(DOCUMENTS, raw("cosine_distance"), strict=True) if score >= 0.8] == []


def test_converted_cutoffs_are_those_of_the_article_unrounded() -> None:
    values = {metric: convert(0.8, ScoreContract(), ScoreContract(metric)).value for metric in METRICS}
    assert values["cosine_distance"] == 0.2
    assert values["squared_l2"] == 0.4
    assert values["l2"] == np.sqrt(0.4)
    assert round(values["l2"], 6) == 0.632456


def test_the_long_vector_is_first_by_inner_product_and_behind_by_cosine() -> None:
    products = np.array([0.9, LONG @ QUERY])
    unnormalised = ScoreContract("inner_product", normalisation="query_unit_l2")
    assert unnormalised.similarity(products).tolist() == [0.9, 7.0]
    cosine = products / np.array([1.0, np.linalg.norm(LONG)])
    assert ScoreContract().similarity(cosine).tolist() == pytest.approx([0.9, 0.7])
    with pytest.raises(ContractError, match="the document vectors are not"):
        convert(0.8, unnormalised, ScoreContract())
    with pytest.raises(ContractError, match=r"outside \[-1, 1\] for a cosine similarity"):
        ScoreContract("inner_product", normalisation=UNIT).similarity(products)


def test_normalising_the_query_alone_is_not_enough() -> None:
    for metric in ("l2", "squared_l2", "inner_product", "negative_inner_product"):
        assert not ScoreContract(metric, normalisation="query_unit_l2").on_cosine_scale
        assert not ScoreContract(metric, normalisation="document_unit_l2").on_cosine_scale
    assert ScoreContract("cosine_distance", normalisation="none").on_cosine_scale
