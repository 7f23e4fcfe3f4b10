"""The migration study through real backends."""

import faiss
import jsonschema
import numpy as np
import pytest
from deployed import BACKENDS, Corpus, accepted, study, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.contract import convert, read_contract
from calibration.errors import ContractError, LabelError, ParameterError, StoreError
from calibration.params import validated
from calibration.result import migration_document, migration_schema
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import migrate

pytestmark = pytest.mark.server
FLOOR = 0.8


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_converted_threshold_leaves_the_seeds_accepted_set_unchanged(seed, backend):
    old = seed.contract("numpy cosine_similarity", FLOOR, name="old")
    found = study(seed, old, seed.contract(backend, name="new"))
    assert found.verdict == "unchanged", found.flips.to_string()
    assert accepted(found, "old") == accepted(found) == {("q0", "A")}
    assert found.agreement["exact"].ranking.numerator == 3
    assert found.agreement["deployed"].accepted.numerator == 3
    assert found.near == {"above": 1, "near": 1, "below": 1}
    assert found.conversion is not None
    assert found.new.threshold == found.conversion.value


@pytest.mark.parametrize("backend", ["numpy squared_l2", "faiss squared_l2", "pgvector squared_l2"])
def test_the_seeds_copied_number_admits_b_and_is_named_a_conversion(seed, backend):
    old = seed.contract("pgvector cosine_similarity", FLOOR, name="old")
    found = study(seed, old, seed.contract(backend, FLOOR, name="new"))
    assert found.verdict == "changed"
    assert accepted(found, "new") == {("q0", "A"), ("q0", "B"), ("q1", "C")}
    assert set(found.flips["cause"]) == {"conversion"}
    assert found.flips["detail"].unique().tolist() == ["its similarity lies between the two thresholds"]
    assert found.agreement["exact"].ranking.value == 1.0
    assert found.agreement["exact"].new_answers == ["q1"]
    assert "The new threshold is 0.8; the old rule, 0.8 on cosine_similarity, is <= 0.4" in found.findings[0]


@pytest.mark.parametrize(
    ("backend", "rules"),
    [
        ("faiss squared_l2", {"converted": 1, "number copied": 3, "number and direction copied": 4}),
        ("pgvector cosine_distance", {"converted": 1, "number copied": 4, "number and direction copied": 4}),
        ("faiss inner_product", {"converted": 1}),
        ("pgvector negative_inner_product", {"converted": 1, "number copied": 8, "number and direction copied": 1}),
    ],
)
def test_wrong_migrations_are_counted_on_the_users_data(seed, backend, rules):
    found = study(seed, seed.contract("numpy cosine_similarity", FLOOR, name="old"), seed.contract(backend, name="new"))
    # by hand: cosines of q0 0.9 0.7 0.3; of q1 0.79 for C and less for B and A; of q2 their negatives
    raw = found.pairs["new_score"]
    expected = {"converted": 1}
    if "number copied" in rules:
        lower = not found.new.contract.higher_is_better
        expected["number copied"] = int((raw <= FLOOR).sum() if lower else (raw >= FLOOR).sum())
        expected["number and direction copied"] = int((raw >= FLOOR).sum())
    shown = dict(zip(found.wrong["rule"], found.wrong["documents"], strict=True))
    assert shown == expected
    assert found.wrong.loc[0, "gained"] == found.wrong.loc[0, "lost"] == found.wrong.loc[0, "changed"] == 0


def test_c01_the_seeds_query_alone_is_refused_everything_by_a_copied_direction(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["A", "B", "C"], [[0.9, 0.19**0.5], [0.7, 0.51**0.5], [0.3, 0.91**0.5]], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", FLOOR, name="old")
    found = study(corpus, old, corpus.contract("pgvector cosine_distance", name="new"))
    rows = found.wrong.set_index("rule")
    assert rows.loc["number and direction copied", ["documents", "lost", "empty"]].tolist() == [0, 1, 1]
    assert rows.loc["number copied", ["documents", "gained"]].tolist() == [3, 2]


def test_nothing_is_called_unchanged_when_no_query_is_near_the_threshold(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["A", "B"], [[1, 0], [0, 1]], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.5, name="old")
    found = study(corpus, old, corpus.contract("numpy l2", name="new"))
    assert found.verdict == "not shown"
    assert found.near == {"above": 1, "near": 0, "below": 0}
    assert study(corpus, old, corpus.contract("numpy l2", name="new"), near=0.6).verdict == "unchanged"


def test_a_document_at_the_edge_of_the_tolerance_is_boundary_rounding(tmp_path, dsn):
    cosine = FLOOR - 5e-5
    vectors = [[cosine, np.sqrt(1 - cosine**2)], [0.0, 1.0]]
    corpus = Corpus(tmp_path, dsn, ["edge", "far"], vectors, [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", FLOOR, name="old")
    found = study(corpus, old, corpus.contract("halfvec cosine_distance", name="new"))
    assert found.verdict == "unchanged except boundary"
    assert found.flips[["doc_id", "change", "cause"]].values.tolist() == [["edge", "gained", "boundary rounding"]]


def test_c22_strict_and_inclusive_differ_at_the_threshold_only(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["on", "off"], [[0.8, 0.6], [0.6, 0.8]], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", FLOOR, name="old")
    strict = corpus.contract("numpy cosine_distance", 0.2, name="new", threshold_inclusive=False)
    found = study(corpus, old, strict)
    assert found.flips[["doc_id", "change", "cause"]].values.tolist() == [["on", "lost", "boundary rounding"]]
    assert any("inclusive" in line for line in found.findings)


def test_c23_a_threshold_of_zero_is_a_threshold(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["a", "b", "c"], [[0.6, 0.8], [0, 1], [-0.1, 0.995]], [[1, 0]])
    found = study(corpus, corpus.contract("numpy cosine_similarity", 0.0, name="old"),
                  corpus.contract("faiss inner_product", name="new"))  # fmt: skip
    assert {doc for _, doc in accepted(found)} == {"a", "b"}
    assert found.new.threshold == 0.0


def test_a_zero_vector_that_l2_accepts_is_not_indexable_under_a_cosine(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["1", "2"], [[0.8, 0.6], [0, 0]], [[1, 0]])
    old = corpus.contract("faiss squared_l2", 1.0, name="old")
    found = study(corpus, old, corpus.contract("pgvector cosine_distance", name="new"))
    assert found.flips[["doc_id", "change", "cause", "detail"]].values.tolist() == [
        ["2", "lost", "not indexable", "zero vector on the new side"]
    ]
    assert any("1 zero vector" in line for line in found.findings)


def test_differing_corpora_are_reported_and_their_flips_are_the_corpuss(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["a", "b", "c"], [[1, 0], [0.9, 0.436], [0.6, 0.8]], [[1, 0]])
    old = corpus.contract("faiss inner_product", FLOOR, name="old", normalisation="none")
    corpus.load("corpus")
    corpus.run("DELETE FROM corpus WHERE id = 'b'", "UPDATE corpus SET embedding = '[0.95,0.312]' WHERE id = 'c'")
    new = corpus.contract("pgvector inner_product", name="new", normalisation="none")
    found = study(corpus, old, new)
    assert {row["doc_id"]: row["cause"] for row in found.flips.to_dict("records")} == {"b": "corpus", "c": "corpus"}
    assert found.findings == (
        "The corpora differ: 1 document on the old side only: b.",
        "The corpora differ: the vectors of 1 document, first c.",
    )
    assert found.old.describe()["corpus_hash"] != found.new.describe()["corpus_hash"]


def test_one_corpus_has_one_hash_in_every_store_whatever_the_order(seed):
    contracts = [seed.contract(backend, FLOOR) for backend in ("numpy cosine_similarity", "faiss inner_product")]
    found = study(seed, contracts[0], contracts[1])
    other = study(seed, contracts[0], seed.contract("pgvector l2"))
    hashes = {side.describe()["corpus_hash"] for side in (found.old, found.new, other.new)}
    assert len(hashes) == 1
    half = study(seed, contracts[0], seed.contract("halfvec l2"))
    assert half.findings[-1] == "Both sides hold the same documents and directions, at another precision or length."


def test_c11_a_claim_of_unit_length_that_is_not_so_is_refused(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["A", "B"], [[0.96, 0.28], [6, 8]], [[1, 0]])
    old = corpus.contract("pgvector cosine_similarity", FLOOR, name="old")
    with pytest.raises(ContractError, match=r"1 of 2 document vectors not unit length .norms 1 to 10."):
        study(corpus, old, corpus.contract("faiss inner_product", name="new"))


def test_the_long_vector_changes_the_order_under_a_raw_inner_product(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["A", "long"], [[0.9, 0.19**0.5], [7, 51**0.5]], [[1, 0]])
    old = corpus.contract("pgvector cosine_similarity", FLOOR, name="old", normalisation="none")
    with pytest.raises(ContractError, match="unit length"):
        study(corpus, old, corpus.contract("faiss inner_product", name="new", normalisation="none"))
    found = study(corpus, old, corpus.contract("faiss inner_product", 0.8, name="new", normalisation="none"))
    assert found.refused is not None
    assert "cannot be converted" in found.findings[0]
    assert found.agreement["exact"].ranking.numerator == 0
    assert found.flips[["doc_id", "change", "cause"]].values.tolist() == [["long", "gained", "conversion"]]


def test_a_length_that_carries_a_document_over_the_threshold_is_no_rounding(tmp_path, dsn):
    cosine = FLOOR - 1e-4
    vector = 1.001 * np.array([cosine, np.sqrt(1 - cosine**2)])
    corpus = Corpus(tmp_path, dsn, ["a"], [vector], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", FLOOR, name="old", normalisation="none")
    found = study(corpus, old, corpus.contract("numpy inner_product", FLOOR, name="new", normalisation="none"))
    assert found.flips[["cause", "detail"]].values.tolist() == [["conversion", "the sides score it differently"]]


def test_c41_another_models_floor_is_refused(seed):
    old = seed.contract("numpy cosine_similarity", FLOOR, name="old")
    with pytest.raises(ContractError, match="embedding_version"):
        study(seed, old, seed.contract("numpy l2", name="new", embedding_version="fixture-v2"))


def test_a_cap_that_differs_is_said_and_its_flips_are_named(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["a", "b", "c"], [[1, 0], [0.98, 0.198997], [0.95, 0.31225]], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.9, name="old", top_k=3, normalisation="none")
    new = corpus.contract("numpy cosine_similarity", 0.9, name="new", top_k=2, normalisation="none")
    found = study(corpus, old, new)
    assert found.flips[["doc_id", "cause", "detail"]].values.tolist() == [
        ["c", "conversion", "top-K differs: 3, then 2"]
    ]
    assert "The cap differs: top-K 3, then 2." in found.findings
    lower = corpus.contract("numpy cosine_similarity", 0.89, name="new", top_k=2, normalisation="none")
    assert study(corpus, old, lower).flips["detail"].tolist() == ["top-K differs: 3, then 2"]


def test_equal_scores_at_the_last_rank_are_ties_not_losses(tmp_path, dsn):
    vectors = [[1, 0], [0.8, 0.6], [0.8, -0.6]]
    corpus = Corpus(tmp_path, dsn, ["a", "b", "c"], vectors, [[1, 0]])
    other = Corpus(tmp_path, dsn, ["a", "c", "b"], vectors, [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.5, name="old", top_k=2)
    new = other.contract("faiss inner_product", name="new", top_k=2)
    found = study(corpus, old, new, near=1.0)
    assert found.verdict in ("unchanged", "unchanged except boundary")
    assert found.agreement["exact"].ranking.value == 1.0


def test_a_score_file_needs_no_vectors_and_its_gaps_are_index_misses(seed):
    old = seed.contract("scores cosine_distance", 0.2, name="old")
    lines = (seed.folder / "cosine_distance.csv").read_text().splitlines()
    (seed.folder / "cut.csv").write_text("\n".join(line for line in lines if not line.startswith("q0,A")) + "\n")
    new = seed.contract("scores cosine_distance", name="new", source={"file": "cut.csv"})
    found = migrate(MigrateParams(old=old, new=new))
    assert found.flips[["doc_id", "change", "cause"]].values.tolist() == [["A", "lost", "index miss"]]
    assert found.new.snapshot is None


def test_c06_a_score_files_transform_is_undone(seed):
    lines = (seed.folder / "s.csv", "query_id,doc_id,score\nq0,A,0.95\nq0,B,0.85\nq0,C,0.65\n")
    lines[0].write_text(lines[1])
    old = seed.contract(
        "scores cosine_similarity", 0.9, name="old", score_transform="(1+cos)/2", source={"file": "s.csv"}
    )
    found_old = read_contract(old)
    assert convert(0.9, found_old.contract, read_contract(seed.contract("numpy squared_l2")).contract).value == 0.4
    with np.load(seed.queries_file) as file:
        np.savez(seed.folder / "one.npz", query_ids=file["query_ids"][:1], query_vectors=file["query_vectors"][:1])
    found = migrate(
        MigrateParams(old=old, new=seed.contract("faiss squared_l2", name="new"), queries=str(seed.folder / "one.npz"))
    )
    assert accepted(found, "old") == accepted(found) == {("q0", "A")}


def test_risk_and_coverage_have_their_own_denominators(seed, tmp_path):
    folder = tmp_path / "labels"
    folder.mkdir()
    (folder / "queries.csv").write_text("query_id,text,answerability\nq0,x,answerable\nq1,y,off_topic\nq2,z,unknown\n")
    (folder / "qrels.csv").write_text("query_id,doc_id,relevance\nq0,A,1\nq0,B,0\n")
    old = seed.contract("numpy cosine_similarity", FLOOR, name="old")
    found = study(seed, old, seed.contract("faiss squared_l2", FLOOR, name="new"), labels=str(folder))
    before, after = found.rates["old_accepted"], found.rates["new_accepted"]
    assert [str(before[name]) for name in ("coverage", "risk_high", "hit_rate")] == [
        "33.3% (1 of 3)", "0.0% (0 of 1)", "100.0% (1 of 1)",
    ]  # fmt: skip
    assert [str(after[name]) for name in ("coverage", "risk_high", "hit_rate")] == [
        "66.7% (2 of 3)", "50.0% (1 of 2)", "100.0% (1 of 1)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "backend", ["faiss squared_l2", "pgvector cosine_distance", "numpy l2", "scores cosine_distance"]
)
def test_every_receipt_fits_the_schema(seed, backend):
    found = study(seed, seed.contract("numpy cosine_similarity", FLOOR, name="old"), seed.contract(backend, name="new"))
    jsonschema.Draft202012Validator(migration_schema()).validate(migration_document(found))


def test_untrusted_or_compressed_faiss_files_are_refused(seed):
    (seed.folder / "bad.faiss").write_bytes(b"nothing")
    new = {"kind": "faiss", "vectors": None, "index": "bad.faiss"}
    old = seed.contract("numpy cosine_similarity", FLOOR, name="old")
    with pytest.raises(StoreError, match=r"bad.faiss is not a Faiss index"):
        study(seed, old, seed.contract("numpy squared_l2", name="new", source=new))
    lsh = faiss.IndexLSH(2, 8)
    lsh.add(seed.vectors)
    faiss.write_index(lsh, str(seed.folder / "bad.faiss"))
    with pytest.raises(StoreError, match="a Faiss IndexLSH is not compared here"):
        study(seed, old, seed.contract("numpy squared_l2", name="new", source=new))


def test_what_is_missing_is_said(seed):
    old = seed.contract("numpy cosine_similarity", name="old")
    new = seed.contract("numpy l2", name="new")
    with pytest.raises(ContractError, match="has no threshold"):
        study(seed, old, new)
    old = seed.contract("numpy cosine_similarity", FLOOR, name="old")
    with pytest.raises(ParameterError, match="no queries"):
        migrate(MigrateParams(old=old, new=new))
    (seed.folder / "questions.csv").write_text("query_id,text\nq0,x\n")
    with pytest.raises(ParameterError, match="a model must embed them"):
        migrate(MigrateParams(old=old, new=new, queries=str(seed.folder / "questions.csv")))
    with pytest.raises(LabelError, match="judgements need their queries"):
        study(seed, old, new, qrels="qrels.csv")
    with pytest.raises(ParameterError, match="nea"):
        validated(MigrateParams, {"old": old, "new": new, "nea": 0.1})


@given(seed=st.integers(0, 2**32 - 1), width=st.integers(2, 6), n=st.integers(1, 25), floor=st.floats(-0.9, 0.9))
@settings(max_examples=15, deadline=None)
def test_a_converted_floor_flips_nothing_but_the_boundary_whatever_the_vectors(tmp_path_factory, seed, width, n, floor):
    rng = np.random.default_rng(seed)
    vectors, queries = unit(rng.normal(size=(n, width))), unit(rng.normal(size=(4, width)))
    corpus = Corpus(tmp_path_factory.mktemp("w"), None, [f"d{row}" for row in range(n)], vectors, queries)
    old = corpus.contract("numpy cosine_similarity", floor, name="old", top_k=4)
    for backend in ("numpy l2", "numpy cosine_distance", "faiss squared_l2", "faiss inner_product"):
        found = study(corpus, old, corpus.contract(backend, name="new", top_k=4))
        assert set(found.flips["cause"]) <= {"boundary rounding"}, (backend, found.flips.to_string())
        assert found.agreement["exact"].ranking.value == 1.0
