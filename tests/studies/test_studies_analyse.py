"""From Scores to a Calibration."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from handmade import Row, bands_of, calibration_of, labels_of

from calibration.choose import NoFloor, Recommendation, pick
from calibration.params import RunParams
from calibration.studies.analyse import best_within, costs_of, fixed_cap, held_out_floors
from calibration.studies.model import Calibration


def drawn(
    n: int = 40, n_off: int = 40, *, seed: int = 1, probes: int = 0, shuffled: bool = False, **parameters: object
) -> Calibration:
    """Answerable queries in groups of two, hard negatives above some answers, off-topic and missing ones, probes."""
    rng = np.random.default_rng(seed)
    kinds = {f"a{i}": "answerable" for i in range(n)} | {f"o{i}": "off_topic" for i in range(n_off)}
    kinds |= {f"m{i}": "missing_answer" for i in range(6)} | {"u0": "unknown"}
    groups = {f"a{i}": f"g{i // 2}" for i in range(n)} | {"m0": "g0", "u0": "g1"}
    names = [f"p{i}" for i in range(probes)]
    rows: list[Row] = []
    for query in (*kinds, *names):
        middle = {"a": 0.35, "m": 0.33, "u": 0.3}.get(query[0], 0.2)
        rows += [(query, f"d{doc}", float(middle + rng.normal(0, 0.05))) for doc in range(12)]
    rows += [(f"a{i}", "answer", float(rng.normal(0.5, 0.1))) for i in range(n)]
    if shuffled:
        rng.shuffle(rows)
    labels = labels_of(kinds, [(f"a{i}", "answer", 1) for i in range(n)], groups=groups)
    return calibration_of(labels, rows, probes=names, **parameters)


@pytest.fixture(scope="module")
def found() -> Calibration:
    return drawn()


def test_c37_the_floor_of_the_old_model_refuses_everything_and_the_new_one_lies_low_in_the_gap() -> None:
    labels, rows = bands_of([0.47, 0.52, 0.45], [0.18, 0.12, 0.20])
    found = calibration_of(labels, rows, old_floor=0.78)
    assert found.old is not None
    assert (found.old.rates["coverage"].numerator, found.old.rates["recall_macro"].value) == (0, 0.0)
    assert found.old.rates["precision_judged"].value is None
    assert "The old floor 0.78 is above the highest observed score 0.52: it refuses everything." in found.caveats
    assert found.floor is not None
    assert 0.20 < found.floor < (0.20 + 0.45) / 2
    assert found.in_sample.rates["hit_rate"].value == 1.0
    assert found.in_sample.rates["false_answer_rate_off_topic"].value == 0.0


def test_c38_a_floor_that_refuses_nothing_is_called_inert() -> None:
    labels, rows = bands_of([0.86, 0.84], [0.72, 0.75, 0.78, 0.80])
    found = calibration_of(labels, rows, old_floor=0.5)
    assert "The old floor 0.5 is inert: 0 of 4 noise rows are rejected." in found.caveats
    assert found.old is not None
    assert found.old.rates["recall_macro"].value == 1.0
    assert found.floor is not None
    assert 0.80 < found.floor <= 0.84


def test_c38_judged_noise_of_the_same_queries_stands_in_and_is_said_to() -> None:
    labels = labels_of(["q1", "q2"], [("q1", "r", 1), ("q2", "r", 1), *(("q1", f"n{i}", 0) for i in range(2))])
    rows: list[Row] = [("q1", "r", 0.86), ("q2", "r", 0.84), ("q1", "n0", 0.72), ("q1", "n1", 0.80)]
    found = calibration_of(labels, rows)
    assert found.bands.far_noise_source == "judged passages"
    assert found.caveats[0].startswith("Far noise was not measured")


def test_c71_missing_answers_do_not_move_the_floor_and_its_sentence_counts_them() -> None:
    labels, rows = bands_of([0.659, 0.7, 0.72, 0.8], [0.40, 0.3, 0.2])
    far_only = calibration_of(labels, rows)
    kinds = dict(zip(labels.queries["query_id"], labels.queries["answerability"], strict=True))
    near = labels_of(kinds | {"m0": "missing_answer", "m1": "missing_answer"}, labels.qrels.itertuples(index=False))
    both = calibration_of(near, [*rows, ("m0", "d0", 0.721), ("m1", "d0", 0.39)])
    assert far_only.floor == both.floor
    assert both.floor is not None
    assert 0.40 < both.floor < 0.659
    rate = both.in_sample.rates["false_answer_rate_missing_answer"]
    assert (rate.numerator, rate.denominator) == (1, 2)
    assert any(
        c.startswith("Of the on-topic questions whose answer is missing, 1 of 2 still get") for c in both.caveats
    )
    assert any("nothing is known of how the floor treats those" in c for c in far_only.caveats)


def test_c60_the_mislabelled_probe_is_named_not_dropped() -> None:
    labels, rows = bands_of([0.680, 0.71, 0.8, 0.75], [0.676, 0.62, 0.55, 0.721])
    found = calibration_of(labels, rows)
    assert isinstance(found.choice, NoFloor)
    assert found.bands["far_noise"].query_ids[found.choice.blocking_noise[0]] == "o3"
    assert found.choice.gap.n_noise == 4


def test_c67_no_noise_of_any_kind_gives_no_floor_and_a_top_k() -> None:
    labels = labels_of(["q1", "q2"], [("q1", "a", 1), ("q2", "b", 1)])
    found = calibration_of(labels, [("q1", "a", 0.1), ("q2", "b", 0.4)])
    assert (found.floor, found.status, found.held_out) == (None, "none", None)
    assert found.top_k.value == 1
    assert len(found.policies) == 0
    assert any(c.startswith("No noise of any kind was measured") for c in found.caveats)


def test_held_out_floors_are_those_of_the_folds_without_the_query_by_refitting(found: Calibration) -> None:
    assert isinstance(found.choice, Recommendation)
    held_out, far = found.choice.held_out, found.bands["far_noise"]
    assert held_out is not None
    floors = held_out_floors(found.table, found.bands, held_out, seed=found.params.seed)
    assert floors.keys() == set(found.table["query_id"])
    answerable = best_within(found.table, fixed_cap(found.params))
    values, groups = answerable["value"].to_numpy(), answerable["group"].to_numpy()
    folds, noise_folds = np.array(held_out.relevant_folds), np.array(held_out.noise_folds)
    for query, group in zip(answerable["query_id"], answerable["group"], strict=True):
        fold = folds[answerable["query_id"].to_numpy() == query][0]
        assert group not in set(groups[folds != fold])
        refitted = pick(values[folds != fold], far.similarity[noise_folds != fold], found.costs)[0]
        assert floors[query] == refitted
    assert floors["m0"] == floors["a0"]  # a paraphrase that chose nothing goes with its group
    assert floors["u0"] == floors["a2"]
    assert found.held_out is not None
    assert found.held_out.queries.set_index("query_id")["floor"].to_dict() == floors


def test_held_out_floors_of_queries_that_chose_nothing_when_probes_are_the_noise() -> None:
    found = drawn(n_off=8, probes=30)
    assert found.bands.far_noise_source == "probe queries"
    assert found.held_out is not None
    assert found.held_out.queries["floor"].notna().all()
    rate = found.held_out.rates["false_answer_rate_off_topic"]
    assert rate.denominator == 8
    assert found.in_sample.rates["false_answer_rate_probes"].denominator == 30
    assert any("Only 8 off-topic queries are labelled" in caveat for caveat in found.caveats)


def test_few_off_topic_queries_without_probes_are_used_and_said_to_be_few() -> None:
    found = drawn(n_off=8)
    assert found.bands.far_noise_source == "labelled off-topic queries"
    assert "The far noise rests on 8 off-topic queries." in found.caveats
    assert found.choice.gate is None
    assert found.held_out is None


def test_a_floor_from_extremes_has_no_held_out_rates_and_is_never_certified() -> None:
    rng = np.random.default_rng(3)
    labels, rows = bands_of(rng.uniform(0.5, 0.9, 30).tolist(), rng.uniform(0.1, 0.3, 5).tolist())
    found = calibration_of(labels, rows)
    assert isinstance(found.choice, Recommendation)
    assert (found.choice.smoothed, found.held_out, found.status) == (False, None, "uncertified")
    assert found.choice.certificate.bound is not None
    assert found.floor is not None
    assert found.floor < found.choice.certificate.bound
    said = [caveat for caveat in found.caveats if caveat.startswith("Uncertified")]
    assert said == [
        "Uncertified: with so little noise the floor rests on extremes, and a hit rate of 90% with 90% confidence is "
        "not promised of it."
    ]
    ours = found.policies.set_index("policy").loc["recommended"]
    assert ours["hits"] == 30
    assert np.isfinite(ours["cost_held_out"])


def test_the_recommended_row_is_what_the_rates_say(found: Calibration) -> None:
    ours = found.policies.iloc[0]
    rates = found.in_sample.rates
    assert ours["policy"] == "recommended"
    assert ours["floor"] == found.floor
    assert (ours["hits"], ours["n_answerable"]) == (rates["hit_rate"].numerator, rates["hit_rate"].denominator)
    off_topic = rates["false_answer_rate_off_topic"]
    assert (ours["false_answers"], ours["n_far_noise"]) == (off_topic.numerator, off_topic.denominator)
    assert ours["cost"] == pytest.approx(1.5 * (1 - rates["hit_rate"].value) + 0.5 * off_topic.value)
    assert found.held_out is not None
    held = found.held_out.rates
    kept, answered = held["hit_rate"].value, held["false_answer_rate_off_topic"].value
    assert ours["cost_held_out"] == pytest.approx(1.5 * (1 - kept) + 0.5 * answered)
    everything = found.policies.set_index("policy").loc["top-K only"]
    assert everything["cost"] == everything["cost_held_out"]
    assert np.isnan(everything["floor"])
    assert not everything["offers"]


@pytest.mark.parametrize("budget", [1, 3])
def test_policies_are_judged_at_the_recommended_cap(budget: int) -> None:
    found = drawn(top_k=budget)
    assert (found.top_k.value, found.choice.certificate.top_k) == (budget, budget)
    assert found.policies.iloc[0]["hits"] == found.in_sample.rates["hit_rate"].numerator


def test_a_refusal_costs_what_accepting_everything_costs() -> None:
    rng = np.random.default_rng(4)
    labels, rows = bands_of(rng.normal(0.4, 0.1, 30).tolist(), rng.normal(0.4, 0.1, 30).tolist())
    found = calibration_of(labels, rows)
    assert isinstance(found.choice, NoFloor)
    policies = found.policies.set_index("policy")
    for column in ("cost", "cost_held_out", "hits", "false_answers"):
        assert policies.loc["recommended", column] == policies.loc["top-K only", column]
    assert found.held_out is None
    assert found.in_sample.rates["coverage"].value == 1.0


def test_the_order_of_candidates_changes_nothing(found: Calibration) -> None:
    one, other = found, drawn(shuffled=True)
    assert one.choice == other.choice
    rates = {name: asdict(rate) for name, rate in one.in_sample.rates.items()}
    assert rates == {name: asdict(rate) for name, rate in other.in_sample.rates.items()}
    pd.testing.assert_frame_equal(one.policies, other.policies)


def test_a_passage_beyond_the_cap_cannot_be_kept_by_a_floor() -> None:
    table = pd.DataFrame(
        {
            "query_id": list("abcd"), "answerability": "answerable", "best_relevant": [0.5, 0.6, np.nan, 0.0],
            "best_relevant_rank": pd.array([1, 4, None, 2], dtype="Int64"),
        }
    )  # fmt: skip
    assert best_within(table, 3)["value"].tolist() == [0.5, -np.inf, -np.inf, 0.0]


def test_costs_are_those_of_the_preset_unless_the_user_says_otherwise() -> None:
    assert costs_of(RunParams(preset="completeness")).miss == 10.0
    assert costs_of(RunParams(preset="refusal", off_topic_share=0.2)).miss_weight == pytest.approx(0.8)
    own = costs_of(RunParams(preset="refusal", miss_cost=2.0))
    assert (own.miss, own.false_answer) == (2.0, 3.0)


def test_c45_unscored_candidates_are_said_to_be_out_of_every_rate() -> None:
    labels, rows = bands_of([0.47, 0.52, 0.45], [0.18, 0.12, 0.20])
    found = calibration_of(labels, [*rows, ("q0", "lost", None), ("q1", "zero", 0.0)])
    assert "1 candidate has no score: neither accepted nor rejected, and out of every rate." in found.caveats
    assert found.in_sample.rates["precision_low"].denominator == 3
    assert (found.scores.observed["similarity"] == 0.0).sum() == 1


def test_c54_documents_are_the_unit_where_they_are_judged() -> None:
    labels = labels_of({"q1": "answerable", "o1": "off_topic"}, [("q1", "g", 1)])
    rows: list[Row] = [
        ("q1", "g#1", 0.50),
        ("q1", "g#2", 0.45),
        ("q1", "x#1", 0.20),
        ("o1", "x#1", 0.1),
        ("o1", "g#1", 0.15),
    ]
    found = calibration_of(labels, rows, documents={"g#1": "g", "g#2": "g", "x#1": "x"})
    assert found.scores.level == "document"
    assert found.bands["best_relevant"].similarity.tolist() == [0.5]
    assert found.in_sample.rates["recall_micro"].value == 1.0
