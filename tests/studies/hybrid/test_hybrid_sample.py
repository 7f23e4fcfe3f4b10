"""The hybrid study on the bundled sample with MiniLM: what each score is worth, and the document."""

import json
from pathlib import Path

import jsonschema
import pytest

from calibration.result import dumps, hybrid_schema, save_hybrid
from calibration.studies.hybrid.study import Hybrid


def test_the_sample_says_what_each_score_is_worth(sample: Hybrid) -> None:
    """Similarity tells off-topic queries, RRF hardly does: whatever they are, both are there with their intervals."""
    near, ranks = sample.get("similarity"), sample.get("rrf")
    assert near is not None
    assert ranks is not None
    assert near.auc is not None
    assert ranks.auc is not None
    assert near.auc > 0.9 > 0.8 > ranks.auc
    assert near.low is not None
    assert ranks.high is not None
    assert near.low > ranks.high
    assert ranks.refused
    assert ranks.floor is None
    assert ranks.summary["max"] == pytest.approx(2 / 61)


def test_two_queries_of_the_sample_tie_in_rrf_and_not_in_relevance(sample: Hybrid) -> None:
    pair = sample.pair
    assert pair is not None
    rows = sample.candidates.rows.set_index(["query_id", "doc_id"])
    on, off = rows.loc[(pair.on_topic, pair.on_doc)], rows.loc[(pair.off_topic, pair.off_doc)]
    assert on["rrf"] == pytest.approx(off["rrf"], abs=1e-12)
    assert on["similarity"] - off["similarity"] > 0.4
    relevant = set(sample.source.labels.relevant_pairs().itertuples(index=False, name=None))
    assert (pair.on_topic, pair.on_doc) in relevant
    kinds = sample.source.table.set_index("query_id")["answerability"]
    assert kinds[pair.off_topic] == "off_topic"


def test_half_collapses_recall_on_the_sample_and_the_permissive_gate_does_not(sample: Hybrid) -> None:
    one = sample.get("adaptive_divisor")
    assert one is not None
    assert one.kept is not None
    assert one.kept_at_gate is not None
    assert one.kept.value is not None
    assert one.kept.denominator >= 150
    assert one.kept.value < 0.5
    assert one.pass_through is not None
    assert one.pass_through < 0.3
    assert one.kept_at_gate.value == 1.0
    after = sample.after.set_index("threshold")
    assert after.loc[0.5, "found"] < 0.5 * after["found"].max()
    assert after.loc[one.pass_through, "found"] == after["found"].max()


def test_a_gate_on_the_similarity_loses_strong_words_before_they_count(sample: Hybrid) -> None:
    before = sample.before.set_index("threshold")
    near = sample.get("similarity")
    assert near is not None
    assert before.loc[0.5, "strong_lost"] > 0.3 * before["n_strong"].iloc[0]
    assert before.loc[near.pass_through, "strong_lost"] == 0
    assert before["strong_lost"].is_monotonic_increasing
    assert before["found"].iloc[0] == before["found"].max()


def test_words_find_identifiers_of_the_sample_that_vectors_miss(sample: Hybrid) -> None:
    kinds = sample.kinds.set_index("kind")
    codes = kinds.loc["identifier"]
    assert codes["n"] == 28
    assert codes["only_lexical"] >= 4
    assert codes["low"] > 0.05
    assert codes["lexical"] > codes["similarity"]
    parts = kinds[["only_similarity", "only_lexical", "neither"]].sum(axis=1)
    both = kinds["n"] - parts
    assert (both + kinds["only_similarity"] == kinds["similarity"]).all()
    assert (both + kinds["only_lexical"] == kinds["lexical"]).all()


def test_recall_grows_with_the_depth_and_either_leg_is_no_worse_than_one(sample: Hybrid) -> None:
    wide = sample.depth.pivot_table(index="depth", columns="leg", values="recall")
    assert all(wide[leg].is_monotonic_increasing for leg in wide)
    assert (wide["either"] >= wide[["similarity", "lexical"]].max(axis=1)).all()
    assert {sample.top_k.value, 4 * sample.top_k.value, 60} <= set(wide.index)
    assert sample.params.candidate_depth == 60


def test_the_design_says_when_it_returns_nothing(sample: Hybrid) -> None:
    assert set(sample.floors) == {"similarity", "lexical"}
    none, either = sample.designs["no gate"], sample.designs["either floor"]
    assert none["false_answer_rate_off_topic"].value == 1.0
    assert either["false_answer_rate_off_topic"].numerator < none["false_answer_rate_off_topic"].numerator
    for name in ("similarity floor", "lexical floor"):
        assert sample.designs[name]["hit_rate"].numerator <= either["hit_rate"].numerator
        assert sample.designs[name]["coverage"].numerator <= either["coverage"].numerator
    together = "either, chosen together"
    assert sample.recommended == together
    assert sample.costs[together] == min(sample.costs.values())  # type: ignore[type-var]
    assert set(sample.unseen) == set(sample.designs)
    off = {name: rates["false_answer_rate_off_topic"].numerator for name, rates in sample.unseen.items()}
    hits = {name: rates["hit_rate"].numerator for name, rates in sample.unseen.items()}
    assert off[together] < off["either floor"], "two floors that were chosen alone add up their false answers"
    assert hits[together] >= hits["either floor"] - 2
    assert sum(sample.gated.counts.values()) == len(sample.candidates.rows)
    assert not sample.before.empty


def test_the_document_is_plain_json_for_those_who_call_the_search(sample: Hybrid, tmp_path: Path) -> None:
    document = save_hybrid(sample, tmp_path)
    assert json.loads((tmp_path / "hybrid.json").read_text(encoding="utf-8")) == document
    jsonschema.Draft202012Validator(hybrid_schema()).validate(document)
    assert [one["name"] for one in document["signals"]] == ["similarity", "lexical"]
    fusions = {one["name"]: one for one in document["fusions"]}
    assert set(fusions) == {"rrf", "weighted_sum", "adaptive_divisor", "minmax_sum"}
    assert fusions["rrf"]["carries_floor"] is False
    assert "ranks only" in fusions["rrf"]["refused"]
    assert fusions["adaptive_divisor"]["range"]["min"] < fusions["adaptive_divisor"]["range"]["max"] <= 1.0
    collapse = {one["name"]: one for one in document["collapse"]}
    rate = collapse["adaptive_divisor"]["relevant_kept"]
    assert rate["value"] == rate["numerator"] / rate["denominator"]
    assert collapse["rrf"]["relevant_kept"] is None
    assert document["gate"]["pass_through"]["signal"] == "similarity"
    accepted = {one["signal"] for one in document["gate"]["accept"]}
    assert accepted == set(sample.accept)
    assert document["gate"]["recommended"] == "either, chosen together"
    designs = document["gate"]["designs"]
    assert designs["either, chosen together"]["floors"] == {
        one["signal"]: one["floor"] for one in document["gate"]["accept"]
    }
    assert all(rates["unseen_rates"]["hit_rate"]["denominator"] == 112 for rates in designs.values())
    assert accepted == {"similarity", "lexical"}
    assert document["fusion"]["divisors"] == {"lexical": 1.0, "similarity": 1.0, "lexical+similarity": 2.0}
    text = dumps(document)
    assert "Hover" not in text, "ids, no texts"
