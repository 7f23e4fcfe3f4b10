"""What one model's floor does under another."""

import numpy as np
import pytest
from handmade import bands_of, calibration_of

from calibration.result import dumps
from calibration.studies.compare import Comparison, carry_over, comparison_document, one_per_model
from calibration.studies.model import Calibration


def model(name: str, shift: float, scale: float = 1.0) -> Calibration:
    relevant, noise = np.array([0.6, 0.7, 0.75, 0.8, 0.65]), np.array([0.1, 0.2, 0.3, 0.25])
    labels, rows = bands_of((relevant * scale + shift).tolist(), (noise * scale + shift).tolist())
    return calibration_of(labels, rows, name=name)


def nothing(name: str) -> Calibration:
    labels, rows = bands_of([0.2, 0.3], [0.8, 0.9])
    return calibration_of(labels, rows, name=name)


@pytest.fixture(scope="module")
def three() -> Comparison:
    return carry_over((model("high", 0.1), model("low", 0.0, 0.4), nothing("none")))


def test_c37_c38_a_carried_floor_fails_in_both_directions(three: Comparison) -> None:
    rows = three.carried.set_index(["from_model", "to_model"])
    assert len(rows) == 9
    up = rows.loc[("high", "low")]
    assert (up["hits"], up["empty"], up["n_answerable"]) == (0, 5, 5)
    assert up["verdict"] == "refuses everything: the floor is above the highest similarity, 0.320"
    down = rows.loc[("low", "high")]
    assert (down["false_answers"], down["n_off_topic"], down["off_topic_source"]) == (4, 4, "labelled")
    assert down["verdict"] == "inert: all 4 off-topic queries are answered"
    own = rows.loc[("low", "low")]
    assert (own["hits"], own["false_answers"], own["verdict"]) == (5, 0, "its own floor")
    assert rows.loc[("none", "high"), "verdict"] == "no floor to carry over"
    assert np.isnan(rows.loc[("none", "high"), "floor"])


def test_what_is_lost_and_let_through_is_counted() -> None:
    rows = carry_over((model("mid", 0.0), model("low", -0.05), model("strict", 0.3, 0.6))).carried
    verdicts = rows.set_index(["from_model", "to_model"])["verdict"]
    floors = rows.set_index(["from_model", "to_model"])["floor"]
    assert floors["mid", "mid"] == 0.375
    assert floors["strict", "strict"] == pytest.approx(0.525, abs=0.002)
    # of 0.55 0.65 0.70 0.75 0.60 and 0.05 0.15 0.25 0.20
    assert verdicts["strict", "low"] == "0 of 4 off-topic queries are answered"
    assert verdicts["strict", "mid"] == "0 of 4 off-topic queries are answered"
    # of 0.36 0.42 0.48 0.45: the lowest is refused
    assert verdicts["mid", "strict"] == "3 of 4 off-topic queries are answered"
    lost = carry_over((model("mid", 0.0), model("strict", 0.35, 0.6), model("other", -0.1))).carried
    verdict = lost.set_index(["from_model", "to_model"]).loc[("strict", "other"), "verdict"]
    assert verdict.startswith(
        "2 of 5 answerable queries come back empty; 2 fewer keep an answer than with its own floor"
    )


def test_every_pair_has_the_rates_of_its_outcome(three: Comparison) -> None:
    document = comparison_document(three)
    assert [one["model"] for one in document["models"]] == ["high", "low", "none"]
    for one, found in zip(document["models"], three.calibrations, strict=True):
        share = one["unjudged_top_k"]
        assert (share["numerator"], share["denominator"]) == (found.unjudged.numerator, found.unjudged.denominator)
    assert {(pair["from_model"], pair["to_model"]) for pair in document["pairs"]} == set(three.outcomes)
    for pair in document["pairs"]:
        rates = three.outcomes[pair["from_model"], pair["to_model"]].rates
        assert pair["rates"]["hit_rate"]["numerator"] == rates["hit_rate"].numerator
        assert set(pair["rates"]) == set(rates)
    by_pair = {(pair["from_model"], pair["to_model"]): pair for pair in document["pairs"]}
    assert by_pair["none", "low"]["floor"] is None
    assert by_pair["high", "low"]["floor"] == three.calibrations[0].floor
    assert "NaN" not in dumps(document)


def test_one_set_of_parameters_per_model() -> None:
    params = model("x", 0.0).params
    assert [one.model for one in one_per_model(params, "a, b,,c ")] == ["a", "b", "c"]
