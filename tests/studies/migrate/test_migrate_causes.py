"""Causes that lie outside both rules: filters that differ, documents that push others out, storage, other models."""

import numpy as np
import pytest
from deployed import Corpus, accepted, study, unit, without_seqscan

from calibration.errors import ContractError
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import migrate

pytestmark = pytest.mark.server


@pytest.fixture
def scattered(tmp_path, dsn):
    """500 x 8 vectors, ids by their place, and 10 queries."""
    rng = np.random.default_rng(5)
    vectors, queries = unit(rng.normal(size=(500, 8))), unit(rng.normal(size=(10, 8)))
    return Corpus(tmp_path, dsn, [f"d{row}" for row in range(500)], vectors, queries)


def test_a_filter_that_lets_everything_through_is_not_to_blame_for_a_short_list(scattered):
    table = scattered.load("corpus")
    scattered.run(f"CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops)", f"ANALYZE {table}")
    keep = {"where": "place >= 0"}
    old = scattered.contract("pgvector cosine_distance", 0.7, name="old", source=keep)
    deployed = keep | {"dsn": without_seqscan(scattered.dsn), "index": {"ef_search": 5}}
    found = study(scattered, old, scattered.contract("pgvector cosine_distance", name="new", source=deployed))
    assert set(found.flips["cause"]) == {"index miss"}
    assert found.flips["detail"].str.startswith("new search returned 5 of 10").all()
    # the same lists, cut by a filter that holds some back
    half = deployed | {"where": "place % 2 = 0"}
    old = scattered.contract("pgvector cosine_distance", 0.7, name="old", source={"where": "place % 2 = 0"})
    found = study(scattered, old, scattered.contract("pgvector cosine_distance", name="new", source=half))
    assert set(found.flips["cause"]) == {"filter"}


def test_a_forgotten_filter_is_said_and_explains_what_its_documents_push_out(scattered):
    old = scattered.contract("pgvector cosine_distance", 0.7, name="old", source={"where": "place % 2 = 0"})
    found = study(scattered, old, scattered.contract("pgvector cosine_distance", name="new"))
    assert "The filters differ: 'place % 2 = 0', then none." in found.findings
    assert set(found.flips["change"]) == {"gained", "lost"}
    assert set(found.flips["cause"]) == {"filter"}
    lost = found.flips[found.flips["change"] == "lost"]
    assert lost["detail"].str.match(r"pushed out of the new 10 by d\d*[13579], which only that side has").all()


def test_documents_that_only_one_corpus_holds_explain_what_they_push_out(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["a", "b"], [[1, 0], [0.8, 0.6]], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.5, name="old", top_k=1)
    corpus.load("corpus")
    corpus.run("DELETE FROM corpus WHERE id = 'a'")
    found = study(corpus, old, corpus.contract("pgvector l2", name="new", top_k=1))
    assert found.flips[["doc_id", "change", "cause", "detail"]].values.tolist() == [
        ["a", "lost", "corpus", "not in the new corpus"],
        ["b", "gained", "corpus", "pushed out of the old 1 by a, which only that side has"],
    ]


def test_c21_a_tolerance_too_small_for_the_storage_is_said_and_its_flips_are_boundary_rounding(tmp_path, dsn):
    vectors = [[0.8 + step * 1e-5, np.sqrt(1 - (0.8 + step * 1e-5) ** 2)] for step in range(-40, 41)]
    corpus = Corpus(tmp_path, dsn, [f"d{step}" for step in range(81)], vectors, [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.8, name="old", top_k=81)
    careless = corpus.contract("halfvec cosine_distance", name="new", tolerance=1e-6, top_k=81)
    found = study(corpus, old, careless)
    assert found.verdict == "unchanged except boundary"
    assert len(found.flips) > 0
    assert set(found.flips["cause"]) == {"boundary rounding"}
    assert (
        "The new contract's tolerance is 1e-06, but its column's storage moves a similarity by up to 0.002: write that "
        "into the contract."
    ) in found.findings
    assert not any("storage" in line for line in study(corpus, old, corpus.contract("pgvector l2")).findings)


def test_c41_one_set_of_query_vectors_never_searches_two_models(seed):
    old = seed.contract("numpy cosine_similarity", 0.8, name="old")
    with pytest.raises(ContractError, match=r"different embedding_version .*query vectors come from one model"):
        study(seed, old, seed.contract("numpy cosine_distance", 0.5, name="new", embedding_version="fixture-v2"))
    # scores of two models may be compared at each one's own threshold
    old = seed.contract("scores cosine_distance", 0.2, name="old")
    new = seed.contract("scores cosine_distance", 0.4, name="new", embedding_version="fixture-v2")
    found = migrate(MigrateParams(old=old, new=new))
    assert "no formula turns one model's floor into another's" in found.findings[0]


def test_c06_a_number_copied_into_a_transformed_score_is_compared_with_the_transformed_scores(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["a", "b", "c"], [[1, 0], [0.6, 0.8], [0, 1]], [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.5, name="old")
    new = corpus.contract("numpy cosine_similarity", name="new", score_transform="(1+cos)/2")
    found = study(corpus, old, new)
    assert accepted(found) == {("q0", "a"), ("q0", "b")}
    assert found.wrong[["rule", "comparison", "documents"]].values.tolist() == [
        ["converted", ">= 0.75", 2],
        ["number copied", ">= 0.5", 3],
    ]
