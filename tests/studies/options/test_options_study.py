"""The options study: a search made by hand, and the small set with real models against the calibration of the same."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jsonschema
import made_options
import numpy as np
import pytest

from calibration.errors import ParameterError
from calibration.params import parameters, validated
from calibration.result import dumps, options_document, options_schema, save_options
from calibration.studies.calibrate import calibrate
from calibration.studies.options import reranked
from calibration.studies.options.designs import designs, shown
from calibration.studies.options.floors import calibrate_signal, context_floors, contexts_of
from calibration.studies.options.identifiers import looks_like_identifier
from calibration.studies.options.params import OptionsParams
from calibration.studies.options.reranked import with_rerank
from calibration.studies.options.study import Options, options
from calibration.studies.options.verdicts import CONTEXT_COST, FALSE, LOST, UPKEEP
from calibration.studies.progress import SILENT


def verdict(found: Options, concern: str) -> object:
    return next(one for one in found.verdicts if one.concern == concern)


def test_all_five_are_measured_on_the_same_queries() -> None:
    found = made_options.codes()
    assert [one.name for one in found.options] == ["global_floor", "context_floors", "top_k", "rerank", "hybrid"]
    assert {one.rates["hit_rate"].denominator for one in found.measured} == {48}
    assert {one.rates["false_answer_rate_off_topic"].denominator for one in found.measured} == {30}
    assert {one.rates["false_answer_rate_missing_answer"].denominator for one in found.measured} == {6}
    assert all((one.queries["n_accepted"] <= 3).all() for one in found.measured)


def test_what_has_to_come_out_by_hand() -> None:
    """Vectors find 36 of 48; words, and the reader of every candidate, find the twelve codes too."""
    found = made_options.codes()
    hits = {one.name: one.rates["hit_rate"].numerator for one in found.measured}
    assert hits["top_k"] == 36
    assert hits["global_floor"] <= 36
    assert hits["rerank"] == 48
    assert hits["hybrid"] == 48
    false = {one.name: one.rates["false_answer_rate_off_topic"].numerator for one in found.measured}
    assert false["top_k"] == 30
    assert false["rerank"] == 0
    assert false["global_floor"] < 5
    assert found.get("top_k").context.passages == 3.0
    assert found.get("top_k").rates["empty_context_rate"].numerator == 0
    assert found.get("rerank").context.off_topic_passages == 0.0


def test_a_floor_never_keeps_more_than_top_k_alone() -> None:
    found = made_options.codes()
    everything = found.get("top_k").queries
    for name in ("global_floor", "context_floors"):
        queries = found.get(name).queries
        assert not (queries["hit"] & ~everything["hit"]).any()
        assert (queries["n_accepted"] <= everything["n_accepted"]).all()


def test_each_floor_lives_on_its_own_score() -> None:
    found = made_options.codes()
    metrics = {
        (one.name, threshold.signal): threshold.contract.metric for one in found.options for threshold in one.thresholds
    }
    assert metrics[("rerank", "rerank")] == "maxsim"
    assert metrics[("hybrid", "lexical")] == "ts_rank"
    assert metrics[("hybrid", "similarity")] == "cosine_similarity"
    assert not [key for key in metrics if key[1] == "rrf"]
    assert found.get("top_k").thresholds == ()
    contexts = [threshold.context for threshold in found.get("context_floors").thresholds]
    assert contexts == ["question", None], "no code's passage is within the cap, so codes meet the global floor"


def test_a_query_does_not_move_the_floor_it_is_measured_at() -> None:
    """Whatever a query scores, the floor of its own fold stays; another fold's may move."""
    source = made_options.codes_source()
    before = calibrate_signal(made_options.bench_of(source), "similarity")
    query = "a1"
    fold = made_options.bench_of(source).folds[query]
    rows = source.candidates.rows
    moved = rows.assign(similarity=rows["similarity"].where(rows["query_id"] != query, -0.9))
    changed = replace(source, candidates=replace(source.candidates, rows=moved))
    after = calibrate_signal(made_options.bench_of(changed), "similarity")
    assert after.by_fold[fold] == before.by_fold[fold]
    assert after.by_fold != before.by_fold


def test_contexts_are_chosen_without_the_query_too_and_lean_on_the_global_floor() -> None:
    source = made_options.codes_source()
    bench = made_options.bench_of(source)
    near = calibrate_signal(bench, "similarity")
    named = contexts_of(source.labels, source.table)
    assert named is not None
    what, names = named
    assert what == "kind"
    found = context_floors(bench, near, what, names)
    assert set(found.of_query) == set(source.table["query_id"]), "every query has a context, off-topic ones too"
    fold = bench.folds["a4"]
    rows = source.candidates.rows
    moved = rows.assign(similarity=rows["similarity"].where(rows["query_id"] != "a4", -0.9))
    other = made_options.bench_of(replace(source, candidates=replace(source.candidates, rows=moved)))
    again = context_floors(other, calibrate_signal(other, "similarity"), what, names)
    assert again.by_fold[fold] == found.by_fold[fold]
    assert again.by_fold != found.by_fold


def test_contexts_need_two_names_and_not_as_many_as_queries() -> None:
    source = made_options.codes_source()
    one = source.table.assign(kind="question")
    assert contexts_of(source.labels, one) is None
    many = source.table.assign(kind=source.table["query_id"])
    assert contexts_of(source.labels, many) is None
    queries = source.labels.queries.assign(collection=["x", "y"] * (len(source.labels.queries) // 2))
    named = contexts_of(replace(source.labels, queries=queries), source.table)
    assert named is not None
    assert named[0] == "collection", "a collection that the query names comes before its kind"


def test_verdicts_by_the_error_one_can_least_afford() -> None:
    found = made_options.codes()
    lost = verdict(found, LOST)
    assert set(lost.best) == {"hybrid", "rerank"}
    assert lost.take == "hybrid", "as many answers as the reranker, without a model to ask"
    assert set(lost.worse) == {"top_k", "global_floor", "context_floors"}
    false = verdict(found, FALSE)
    assert false.worse[-1] == "top_k"
    assert set(false.best) == {"global_floor", "context_floors", "rerank", "hybrid"}
    assert false.take == "hybrid", "all refuse as much, and this one keeps measurably more answers"
    assert "Not global floor and floor per kind: hybrid is as good on this" in false.words
    assert "of 6, answered by" in false.words
    context = verdict(found, CONTEXT_COST)
    assert "No saving, since answers are measurably lost" in context.words
    assert context.take in {"hybrid", "rerank"}
    upkeep = verdict(found, UPKEEP)
    assert upkeep.take == "global_floor"
    assert "hybrid keeps more answers (48 of 48, against" in upkeep.words
    assert "adds about 84 ms" in context.words or context.take == "hybrid"


def test_nothing_measurable_is_an_answer() -> None:
    found = made_options.alike()
    assert found.get("global_floor").missing.startswith("these labels support no floor on the similarity")
    assert "no texts" in found.get("rerank").missing
    assert {one.name for one in found.measured} == {"top_k", "hybrid"}
    lost = verdict(found, LOST)
    assert lost.no_difference
    assert lost.take == "top_k"
    assert lost.words.startswith("No measurable difference on these labels")
    false = verdict(found, FALSE)
    assert false.take is None
    assert false.words.startswith("Not measured")
    assert "None" not in "".join(one.words for one in found.verdicts)
    jsonschema.Draft202012Validator(options_schema()).validate(options_document(found))


def test_identifier_queries_are_a_segment_with_an_interval() -> None:
    found = made_options.codes().identifiers
    assert found.how == "the queries of that kind"
    assert found.n == 12
    assert (found.only_words.numerator, found.only_words.denominator) == (12, 12)
    assert found.only_words.low == pytest.approx(0.7575, abs=1e-3)
    assert found.only_vectors.numerator == 0
    assert found.versus is not None
    assert (found.versus.first, found.versus.first_better, found.versus.second_better) == ("hybrid", 12, 0)
    assert found.kept["hybrid"].numerator == 12


@pytest.mark.parametrize("text", ["ERR-1042", "what is F/104", "set max_tokens", "getUserName fails", "#48213", "B2B"])
def test_codes_look_like_identifiers(text: str) -> None:
    assert looks_like_identifier(text)


@pytest.mark.parametrize(
    "text", ["", "since 1999", "ten well-known tips", "3.5 percent", "Wie viele Punkte?", "検索 する"]
)
def test_words_and_years_do_not(text: str) -> None:
    assert not looks_like_identifier(text)


def test_unscored_candidates_follow_their_policy() -> None:
    """A candidate without a similarity is not a 0.0: dropped or kept, but never ahead of those with a score."""
    source = made_options.codes_source()
    rows = source.candidates.rows
    bare = rows.assign(similarity=rows["similarity"].where(rows["doc_id"] != "d7"))
    counts = {}
    for policy in ("drop", "keep"):
        contract = replace(source.candidates.contracts["similarity"], unscored=policy)
        contracts = {**source.candidates.contracts, "similarity": contract}
        changed = replace(source, candidates=replace(source.candidates, rows=bare, contracts=contracts))
        bench = made_options.bench_of(changed, unscored=policy)
        first = designs(bench, "none")[0]
        passed = shown(bench, first, held_out=True)
        counts[policy] = int((passed["doc_id"] == "d7").sum())
        kept = passed[passed["doc_id"] == "d7"]
        last = passed.groupby("query_id")["rank"].max()
        assert (kept["rank"].to_numpy() == last[kept["query_id"]].to_numpy()).all()
    assert counts == {"drop": 0, "keep": len(source.table)}


def test_the_document_keeps_to_its_schema_and_holds_no_text(tmp_path: Path) -> None:
    found = made_options.codes()
    document = save_options(found, tmp_path)
    assert json.loads((tmp_path / "options.json").read_text(encoding="utf-8")) == document
    jsonschema.Draft202012Validator.check_schema(options_schema())
    jsonschema.Draft202012Validator(options_schema()).validate(document)
    for one in document["options"]:
        assert set(one) >= {"name", "rates", "passages_per_query", "thresholds", "labels_needed"}
        for rate in one["rates"].values():
            assert rate["denominator"] == 0 or rate["value"] == pytest.approx(rate["numerator"] / rate["denominator"])
    text = dumps(document)
    assert "a question" not in text
    assert "passage 3" not in text
    broken = {**document, "options": document["options"][:4]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(options_schema()).validate(broken)


@pytest.mark.parametrize(
    ("address", "words"),
    [("cross-encoder", "an address that starts with"), ("https://u:S3cret@host/rerank", "must not carry a password")],
)
def test_a_reranker_that_cannot_be_asked_is_refused_before_anything_starts(address: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words) as refused:
        validated(OptionsParams, {"rerank": address})
    assert "S3cret" not in str(refused.value)


def test_a_score_file_is_refused_with_what_is_needed() -> None:
    with pytest.raises(ParameterError, match="a score file holds one score"):
        validated(OptionsParams, {"scores": "scores.csv"})


@pytest.fixture(scope="module")
def small(labels_folder: Path, run_cache: Path) -> Iterator[tuple[Options, dict[str, object]]]:
    """The small set with real models, studied once."""
    values = {"labels": str(labels_folder), "rel_level": 1, "languages": "pl", "model": "wordllama", "top_k": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(run_cache))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("CALIBRATION_RUN", raising=False)
        yield options(validated(OptionsParams, {**values, "rerank_depth": 6})), values


def test_the_global_floor_is_that_of_a_calibration(small: tuple[Options, dict[str, object]]) -> None:
    """Same floor, same folds, same rates as the page of `calibrate run` shows for unseen queries."""
    found, values = small
    known = calibrate(parameters(values))
    one = found.get("global_floor")
    assert known.floor is not None
    assert [threshold.value for threshold in one.thresholds] == [known.floor]
    assert known.held_out is not None
    for name in ("hit_rate", "coverage", "false_answer_rate_probes", "false_answer_rate_off_topic", "risk_low"):
        mine, theirs = one.rates[name], known.held_out.rates[name]
        assert (mine.numerator, mine.denominator) == (theirs.numerator, theirs.denominator), name
    passages, tokens = known.price.at(4)
    assert found.counted_by == known.price.counted_by
    assert passages is not None
    assert tokens is not None


def test_real_models_give_times_texts_and_reasons(small: tuple[Options, dict[str, object]]) -> None:
    found, _ = small
    rerank, hybrid = found.get("rerank"), found.get("hybrid")
    assert rerank.latency is not None
    assert rerank.latency.median > 1.0
    assert hybrid.latency is not None
    assert hybrid.latency.median < rerank.latency.median
    assert found.get("top_k").context.tokens is not None
    assert rerank.rates["hit_rate"].numerator >= 8
    jsonschema.Draft202012Validator(options_schema()).validate(options_document(found))
    assert found.facts["command"].startswith("calibrate options ")


def test_reranked_scores_are_kept_and_a_damaged_file_is_read_anew(
    small: tuple[Options, dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = small
    monkeypatch.setenv("CALIBRATION_CACHE", str(tmp_path))
    source, params = found.bench.source, found.params
    candidates = source.candidates
    few = replace(source, candidates=replace(candidates, rows=candidates.rows.iloc[:8].reset_index(drop=True)))
    first, missing = with_rerank(few, params, SILENT)
    assert missing == ""
    (path,) = (tmp_path / "pulls").glob("parts-*/scores.npy")
    with monkeypatch.context() as patch:
        patch.setattr(reranked, "rerank", lambda *_, **__: pytest.fail("nothing is read twice"))
        again, _ = with_rerank(few, params, SILENT)
    path.write_bytes(b"damaged")
    repaired, _ = with_rerank(few, params, SILENT)
    for one in (again, repaired):
        np.testing.assert_array_equal(one.values("rerank"), first.values("rerank"))
    assert np.load(path).shape == (8,)
    assert [one.name for one in path.parent.iterdir()] == ["scores.npy"], "no half-written file is left"
