"""The hybrid study: on the sample, on logs written by hand, and on the seed's own example."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibration.contract import ScoreContract
from calibration.errors import ParameterError, StoreError
from calibration.labels import Labels
from calibration.params import RunParams, validated
from calibration.result import dumps, hybrid_document, save_hybrid
from calibration.retrieval import FUSIONS, Candidates, adaptive_divisor, max_possible
from calibration.studies.calibrate import calibrate
from calibration.studies.hybrid.candidates import Far, places
from calibration.studies.hybrid.floors import choose_beside, choose_own_floor, folds_of
from calibration.studies.hybrid.gate import Asked, gate_curve
from calibration.studies.hybrid.measure import auc, measure, pass_through
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.hybrid.study import Hybrid, hybrid
from calibration.studies.hybrid.ties import tied_pair

NONE = float("nan")


@pytest.fixture(scope="session")
def sample(run_cache: Path) -> Iterator[Hybrid]:
    """The bundled sample with MiniLM, studied once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(run_cache))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("CALIBRATION_RUN", raising=False)
        yield hybrid(validated(HybridParams, {"model": "minilm"}))


def written(folder: Path, rows: list[str], name: str = "log.csv") -> str:
    path = folder / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def of_log(path: str, metrics: str, **more: object) -> Hybrid:
    return hybrid(validated(HybridParams, {"signals": path, "signal_metrics": metrics, **more}))


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


def seed_example() -> tuple[Candidates, Labels, pd.DataFrame]:
    """The seed's search: 40 answerable queries for which three signals are active, so what is divided by is 2.5.

    The relevant memory of each has a semantic score around 0.8 and weak keywords, and nobody else comes near it.
    """
    rng = np.random.default_rng(4)
    n = 40
    queries = np.repeat([f"q{i:02}" for i in range(n)], 5)
    docs = np.tile(list("abcde"), n)
    relevant = docs == "a"
    semantic = np.where(relevant, rng.uniform(0.6, 0.9, 5 * n), rng.uniform(0.0, 0.3, 5 * n))
    bm25 = np.where(relevant, rng.uniform(0.0, 0.25, 5 * n), NONE)
    entity = np.where(docs == "b", 0.05, NONE)
    divisors = max_possible({"semantic": 1.0, "bm25": 1.0, "entity": 0.5})
    fused = adaptive_divisor({"semantic": semantic, "bm25": bm25, "entity": entity}, queries, divisors)
    frame = pd.DataFrame({"query_id": queries, "doc_id": docs, "similarity": semantic})
    candidates = Candidates(sorted(set(queries)), frame, {"similarity": ScoreContract()})
    candidates = candidates.with_signal("adaptive_divisor", fused, FUSIONS["adaptive_divisor"])
    ids = candidates.query_ids
    asked = {"query_id": ids, "text": "x", "kind": "-", "answerability": "answerable", "group": ids, "must": "-"}
    qrels = pd.DataFrame({"query_id": ids, "doc_id": "a", "relevance": 1})
    labels = Labels(pd.DataFrame(asked).astype("str"), qrels, None, 1, "unknown")
    table = labels.queries[["query_id", "kind", "answerability", "group"]].assign(probe=False, n_relevant=1)
    return candidates, labels, table


def test_the_seeds_adaptive_divisor_collapses_at_half_and_not_at_the_gate() -> None:
    candidates, labels, table = seed_example()
    params = validated(HybridParams, {"signals": "x.csv", "signal_metrics": "similarity=cosine_similarity"})
    near, fused = measure(candidates, labels, table, params)
    # strong in semantics alone, 0.6 to 0.9; fused, the same memories lie between 0.2 and 0.5
    assert near.relevant["min"] is not None
    assert near.relevant["min"] >= 0.6
    assert fused.relevant["max"] is not None
    assert 0.2 < float(fused.relevant["min"] or 0) < fused.relevant["max"] < 0.5
    assert fused.kept is not None
    assert (fused.kept.numerator, fused.kept.denominator) == (0, 40)
    assert near.kept is not None
    assert (near.kept.numerator, near.kept.denominator) == (40, 40)
    assert fused.pass_through is not None
    assert 0.05 <= fused.pass_through <= 0.25
    assert fused.kept_at_gate is not None
    assert fused.kept_at_gate.value == 1.0
    relevant = candidates.rows["doc_id"].eq("a").to_numpy()
    asked = Asked(candidates, relevant, places(candidates, "adaptive_divisor"), table, 5)
    curve = gate_curve(asked, "adaptive_divisor", relevant, (0.5, fused.pass_through)).set_index("threshold")
    assert curve.loc[0.5, "found"] == 0
    assert curve.loc[fused.pass_through, "found"] == 40


LOG = ["query_id,doc_id,similarity,lexical,fused,relevance,answerability"]


def test_c43_a_log_with_rrf_is_refused_a_floor_and_shown_the_tie(tmp_path: Path) -> None:
    rows = [
        *(f"on{i},a,{0.6 + i / 100},{5 + i},0.0327869,1,answerable" for i in range(8)),
        *(f"off{i},a,{0.1 + i / 100},,0.0327869,,off_topic" for i in range(8)),
    ]
    found = of_log(written(tmp_path, [*LOG, *rows]), "similarity=cosine_similarity,lexical=score,fused=rrf")
    fused, near = found.get("fused"), found.get("similarity")
    assert fused is not None
    assert near is not None
    assert fused.auc == 0.5, "the same value for every query tells nothing"
    assert near.auc == 1.0
    assert "ranks only" in fused.refused
    assert fused.kept is None
    assert set(found.floors) == {"similarity"} | ({"lexical"} if "lexical" in found.floors else set())


def test_c49_a_weighted_sum_has_a_range_of_its_own(tmp_path: Path) -> None:
    rows = [f"q{i},a,0.62,,0.434,1,answerable" for i in range(6)]
    found = of_log(written(tmp_path, [*LOG, *rows]), "similarity=cosine_similarity,fused=weighted_sum")
    fused, near = found.get("fused"), found.get("similarity")
    assert fused is not None
    assert near is not None
    assert fused.kept is not None
    assert near.kept is not None
    assert (near.kept.numerator, near.kept.denominator) == (6, 6)
    assert (fused.kept.numerator, fused.kept.denominator) == (0, 6), "0.5 was made for cosine"
    assert fused.summary["max"] == 0.434


def test_unscored_candidates_follow_their_policy_and_are_counted(tmp_path: Path) -> None:
    rows = [
        *(f"on{i},a,{0.5 + i / 100},,0.03,1,answerable" for i in range(10)),
        *(f"on{i},b,,,0.02,,answerable" for i in range(10)),
        *(f"off{i},a,{0.1 + i / 100},,0.03,,off_topic" for i in range(10)),
        "off0,z,0.0,,0.01,,off_topic",
    ]
    path = written(tmp_path, [*LOG, *rows])
    dropped, kept = (
        of_log(path, "similarity=cosine_similarity,fused=rrf", unscored=policy) for policy in ("drop", "keep")
    )
    assert dropped.gated.counts == {"accepted": 10, "rejected": 11, "unscored": 10, "exempt": 0}
    assert kept.gated.counts == dropped.gated.counts
    assert dropped.gated.passed.sum() == 10
    assert kept.gated.passed.sum() == 20
    near = dropped.get("similarity")
    assert near is not None
    assert near.summary["not_scored"] == 10
    assert near.summary["min"] == 0.0
    assert hybrid_document(kept)["gate"]["unscored"] == "keep"


def test_a_log_without_similarity_says_what_is_missing(tmp_path: Path) -> None:
    found = of_log(written(tmp_path, [*LOG, "q,a,,2.0,0.03,1,answerable"]), "lexical=score,fused=rrf")
    assert any("holds no similarity" in caveat for caveat in found.caveats)
    assert any("No off-topic query is labelled" in caveat for caveat in found.caveats)
    assert found.before.empty
    assert found.recommended is None
    assert dumps(hybrid_document(found))


def test_a_users_table_is_searched_by_its_own_text(
    database: object, small_params: Callable[..., object], labels_folder: Path
) -> None:
    """The dsn of a reader who may only select; the text lies beside the vectors."""
    with database.owner() as owner:  # type: ignore[attr-defined]
        owner.execute("CREATE TABLE texts AS SELECT *, NULL::text AS body FROM docs")
        for line in filter(None, (labels_folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n")):
            passage = json.loads(line)
            owner.execute("UPDATE texts SET body = %s WHERE id = %s", (passage["text"], passage["_id"]))
        owner.execute("GRANT SELECT ON texts TO reader")
    small_params()  # sets the cache and the password
    values = {
        "labels": str(labels_folder), "rel_level": 1, "languages": ["pl"], "model": "wordllama",
        "dsn": database.dsn, "table": "texts", "where": "tenant = 'A'",  # type: ignore[attr-defined]
    }  # fmt: skip
    found = hybrid(validated(HybridParams, {**values, "text_column": "body", "text_search": "english"}))
    assert found.facts["text_search"]["configuration"] == "english"
    assert not found.candidates.rows["doc_id"].str.startswith("other").any(), "the filter holds for words too"
    with pytest.raises(StoreError, match="no text search configuration 'englich'"):
        hybrid(validated(HybridParams, {**values, "text_column": "body", "text_search": "englich"}))
    with database.owner() as owner:  # type: ignore[attr-defined]
        owner.execute("DROP TABLE texts")


def test_words_speak_for_documents_where_judgements_name_them(
    small_params: Callable[..., object], tmp_path: Path
) -> None:
    folder = tmp_path / "labels"
    folder.mkdir()
    corpus = [
        ("p1", "Refunds are paid within fourteen days of the request.", "book-a"),
        ("p2", "Gift cards cannot be refunded at all.", "book-a"),
        ("p3", "The printer in the hall needs form F-104.", "book-b"),
        ("p4", "Holidays are announced in spring.", "book-c"),
    ]
    lines = [json.dumps({"_id": name, "text": text, "document_id": book}) for name, text, book in corpus]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = {"q1": "when are refunds paid", "q2": "F-104", "q3": "holidays in spring", "x1": "lasagne recipe"}
    kinds = {"x1": "off_topic"}
    queries = [json.dumps({"_id": q, "text": t, "answerability": kinds.get(q, "answerable")}) for q, t in asked.items()]
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n", encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq1\tbook-a\t1\nq2\tbook-b\t1\nq3\tbook-c\t1\n"
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    small_params()  # sets the cache
    values = {"labels": str(folder), "model": "minilm", "probes": False, "rerank": "late-interaction"}
    found = hybrid(validated(HybridParams, {**values, "rerank_depth": 2}))
    rows = found.candidates.rows
    assert set(rows["doc_id"]) == {"book-a", "book-b", "book-c"}
    words = rows[rows["lexical"].notna()]
    assert sorted(zip(words["query_id"], words["doc_id"], strict=True)) == [
        ("q1", "book-a"), ("q2", "book-b"), ("q3", "book-c"),
    ]  # fmt: skip
    assert rows.groupby("query_id")["rerank"].count().tolist() == [2, 2, 2, 2]
    late = found.get("rerank")
    assert late is not None
    assert late.metric == "maxsim"
    assert not late.refused


def test_a_leg_that_finds_next_to_nothing_is_said(tmp_path: Path) -> None:
    rows = [f"q{i},a,0.62,,0.434,1,answerable" for i in range(6)]
    found = of_log(
        written(tmp_path, [*LOG, *rows, "q0,b,0.1,0.5,0.1,,answerable"]), "similarity=cosine_similarity,lexical=ts_rank"
    )
    assert any("Words find a candidate for only 1 of 6 queries" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"signals": "x.csv"}, "a run log needs signal_metrics"),
        ({"signal_metrics": "a=rrf"}, "give signals or trec_runs"),
        ({"trec_runs": "a=x.run", "signal_metrics": "a=rrf"}, "trec_runs need qrels"),
        ({"signals": "x.csv", "signal_metrics": "a=rrf", "labels": "here"}, "brings its own labels: labels"),
        ({"signals": "x.csv", "signal_metrics": "a=rrf", "vectors": "v.npz"}, "vectors cannot be used with it"),
        ({"scores": "x.csv"}, "a score file holds one score"),
        ({"text_column": "body"}, "text_column is a column of `table`"),
        ({"trec_runs": "x.run", "signal_metrics": "a=rrf"}, "expected signal=value pairs"),
        ({"vector_weight": 2.0}, "vector_weight"),
        ({"unscored": "maybe"}, "unscored"),
        ({"rerank": "https://u:pw@host/rerank"}, "must not carry a password"),
        ({"rerank": "cross-encoder"}, "an address that starts with http"),
    ],
)
def test_contradictory_parameters_are_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        validated(HybridParams, values)


def test_auc_counts_ties_half() -> None:
    assert auc(np.array([1.0, -np.inf]), np.array([-np.inf])) == 0.75
    assert auc(np.array([]), np.array([1.0])) is None


def mixed_log(n: int = 24) -> pd.DataFrame:
    """Answers of which every third is found by words alone; off-topic queries that are near by chance, or by a word."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(n):
        by_words = i % 3 == 0
        near = rng.uniform(0.1, 0.3) if by_words else rng.uniform(0.45, 0.8)
        rows.append((f"a{i}", "d", near, 0.09 if by_words else 0.02 + 0.02 * rng.random(), 1, "answerable"))
        rows.append((f"x{i}", "d", rng.uniform(0.0, 0.4), 0.05 * rng.random(), None, "off_topic"))
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "similarity", "lexical", "relevance", "answerability"])
    return frame.astype({"relevance": "Int64"})


def test_the_floor_of_a_signal_is_the_one_that_a_calibration_of_it_recommends(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    mixed_log().rename(columns={"similarity": "score"}).drop(columns="lexical").to_csv(path, index=False)
    found = of_log(str(path), "score=cosine_similarity").get("score")
    alone = calibrate(validated(RunParams, {"scores": str(path)}))
    assert found is not None
    assert found.floor is not None
    assert found.floor.floor == alone.choice.floor is not None
    assert found.floor.held_out_floors == alone.choice.held_out_floors


def test_unseen_rates_are_those_of_floors_chosen_without_the_query(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    mixed_log().to_csv(path, index=False)
    found = of_log(str(path), "similarity=cosine_similarity,lexical=ts_rank", top_k=3)
    near = found.get("similarity")
    assert near is not None
    assert near.floor is not None
    folds = folds_of(found.source.table, found.far, found.params.seed)
    rows = found.candidates.rows.set_index("query_id")["similarity"]
    kept = sum(rows[f"a{i}"] >= near.floor.held_out_floors[folds[f"a{i}"]] for i in range(24))
    false = sum(rows[f"x{i}"] >= near.floor.held_out_floors[folds[f"x{i}"]] for i in range(24))
    unseen = found.unseen["similarity floor"]
    assert (unseen["hit_rate"].numerator, unseen["hit_rate"].denominator) == (kept, 24)
    assert (unseen["false_answer_rate_off_topic"].numerator, 24) == (false, 24)
    assert len(set(near.floor.held_out_floors)) > 1, "the folds chose alike, so this shows nothing"


def test_a_second_floor_pays_only_for_what_the_first_leaves(tmp_path: Path) -> None:
    """Words alone must also keep the answers that vectors find, so they reach down among the off-topic queries."""
    path = tmp_path / "log.csv"
    mixed_log().to_csv(path, index=False)
    found = of_log(str(path), "similarity=cosine_similarity,lexical=ts_rank")
    args = (found.source.table, found.far, found.params)
    relevant = found.candidates.rows["query_id"].str.startswith("a").to_numpy()
    near, words = (
        choose_own_floor(found.candidates, name, relevant, *args, found.source.legs)
        for name in ("similarity", "lexical")
    )
    contract = found.candidates.contracts["similarity"]
    beside = choose_beside(near, contract, words, words.relevant, *args)
    assert beside.value is not None
    assert 0.05 < beside.value < 0.09, "the eight answers that only words find stand far above the noise"
    # a first floor that loses nothing leaves nothing to a second
    easy = near._replace(relevant=np.full(24, 0.99))
    assert choose_beside(easy, contract, words, words.relevant, *args).value is None
    # what the queries of a fold score has no say in the floor that they meet
    folds = folds_of(found.source.table, found.far, found.params.seed)
    mine = np.array([folds[f"a{i}"] == folds["a0"] for i in range(24)])
    theirs = np.array([folds[f"x{i}"] == folds["a0"] for i in range(24)])
    assert found.source.table["query_id"].tolist()[:2] == ["a0", "x0"]
    changed = words._replace(relevant=np.where(mine, 0.3, words.relevant), noise=np.where(theirs, 0.2, words.noise))
    again = choose_beside(near, contract, changed, words.relevant, *args)
    assert again.by_fold[folds["a0"]] == beside.by_fold[folds["a0"]]
    assert again.by_fold != beside.by_fold


def test_a_logs_own_fusion_orders_its_candidates_and_carries_the_gate_after(tmp_path: Path) -> None:
    frame = mixed_log().assign(final=lambda rows: rows["similarity"] + rows["lexical"])
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    metrics = "similarity=cosine_similarity,lexical=ts_rank"
    assert of_log(str(path), metrics).order == "rrf"
    own = of_log(str(path), f"{metrics},final=weighted_sum")
    assert (own.order, own.gated_after) == ("final", "final")
    assert own.after["threshold"].max() > frame["final"].max()


def test_a_curve_lets_the_exempt_and_the_kept_unscored_pass_at_every_threshold(tmp_path: Path) -> None:
    rows = [
        *(f"on{i},a,{0.5 + i / 100},,{int(i < 3)},1,answerable" for i in range(10)),
        *(f"un{i},a,,,0,1,answerable" for i in range(4)),
        *(f"off{i},a,{0.1 + i / 100},,0,,off_topic" for i in range(10)),
    ]
    path = written(tmp_path, ["query_id,doc_id,similarity,fused,exempt,relevance,answerability", *rows])
    dropped, kept = (of_log(path, "similarity=cosine_similarity", unscored=policy) for policy in ("drop", "keep"))
    assert dropped.before["found_without"].tolist() == [14] * len(dropped.before)
    assert (dropped.before["found"].iloc[0], dropped.before["found"].iloc[-1]) == (10, 3)
    assert (kept.before["found"].iloc[0], kept.before["found"].iloc[-1]) == (14, 7)


def test_an_exemption_that_changes_makes_the_study_anew(tmp_path: Path) -> None:
    header = "query_id,doc_id,similarity,exempt,relevance,answerability"
    hashes = [
        of_log(
            written(tmp_path, [header, f"q,a,0.4,{yes},1,answerable"], f"{yes}.csv"), "similarity=cosine_similarity"
        ).source.content_hash()
        for yes in (0, 1)
    ]
    assert hashes[0] != hashes[1]


def test_the_pair_is_of_the_noise_that_is_shown() -> None:
    """Few labelled off-topic queries give way to probes, and then none of them is in the figure."""
    ids = ["on", "off", "probe"]
    rows = pd.DataFrame({"query_id": ids, "doc_id": "d", "similarity": [0.8, 0.1, 0.2]})
    candidates = Candidates(ids, rows, {"similarity": ScoreContract()}).with_signal("rrf", [0.03] * 3, FUSIONS["rrf"])
    table = pd.DataFrame({"query_id": ids, "answerability": ["answerable", "off_topic", "off_topic"]})
    pair = tied_pair(candidates, np.array([True, False, False]), table, Far(("probe",), "probes"))
    assert pair is not None
    assert (pair.signal, pair.on_topic, pair.off_topic) == ("rrf", "on", "probe")


def test_a_pass_through_of_the_smallest_numbers_is_still_at_or_below() -> None:
    assert pass_through(np.array([1e-310, 1.0])) == 0.0
    assert pass_through(np.array([-1e-310, 1.0])) == -1e-310


def test_where_no_gate_is_worth_having_everything_passes(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    mixed_log().to_csv(path, index=False)
    found = of_log(str(path), "similarity=cosine_similarity", off_topic_share=0.0)
    assert not found.accept
    assert found.gated.passed.all()
    assert found.gated.counts["accepted"] == len(found.candidates.rows)
