"""Approximate indexes as deployed: what is lost is the index's or the filter's, not the floor's."""

import json

import faiss
import jsonschema
import numpy as np
import pytest
from deployed import Corpus, accepted, study, without_seqscan

from calibration.errors import ParameterError
from calibration.result import migration_document, migration_schema, save_migration

pytestmark = pytest.mark.server


def index_on(corpus, opclass="vector_cosine_ops"):
    """Make a poor index: pgvector draws its layers at random, and a good one may find everything by luck."""
    table = corpus.load("corpus")
    corpus.run(
        f"CREATE INDEX corpus_h ON {table} USING hnsw (embedding {opclass}) WITH (m = 2, ef_construction = 4)",
        f"ANALYZE {table}",
    )


def test_documents_lost_at_low_ef_search_are_index_misses_not_the_floors(clustered):
    index_on(clustered)
    old = clustered.contract("faiss inner_product", 0.52, name="old")
    new = clustered.contract("pgvector cosine_distance", name="new", source={"index": {"ef_search": 10}})
    found = study(clustered, old, new)
    assert found.verdict == "changed"
    causes = {name: count for name, count in found.causes.items() if count}
    assert set(causes) <= {"index miss", "boundary rounding"}
    assert causes["index miss"] > 0
    assert found.agreement["exact"].accepted.value == 1.0
    assert found.agreement["deployed"].accepted.value < 1.0
    recall = found.recall["new"]
    missed = sum(len(names) for names in found.missing["new"].values())
    assert recall["at_k"].denominator == 400
    assert recall["at_k"].numerator == 400 - missed < 400
    assert recall["at_floor"].numerator < recall["at_floor"].denominator
    assert "old" not in found.recall, "a flat index misses nothing"


def test_a_short_list_without_a_filter_is_the_index_s(clustered):
    index_on(clustered)
    old = clustered.contract("faiss inner_product", 0.52, name="old")
    found = study(
        clustered, old, clustered.contract("pgvector cosine_distance", name="new", source={"index": {"ef_search": 5}})
    )
    lost = found.flips[found.flips["change"] == "lost"]
    assert set(lost["cause"]) == {"index miss"}
    assert lost["detail"].str.startswith("new search returned 5 of 10").any()


def test_documents_lost_to_a_selective_filter_are_the_filters(clustered):
    index_on(clustered)
    keep = {"where": "place % 50 = 0"}
    old = clustered.contract("pgvector cosine_distance", 0.55, name="old", source=keep)
    new = clustered.contract(
        "pgvector cosine_distance",
        name="new",
        source=keep | {"dsn": without_seqscan(clustered.dsn), "index": {"ef_search": 40}},
    )
    found = study(clustered, old, new)
    causes = {name: count for name, count in found.causes.items() if count}
    assert set(causes) == {"filter"}
    assert found.flips["detail"].str.startswith("filter after approximate scan").all()
    assert (found.flips["change"] == "lost").all()
    assert found.agreement["deployed"].lost_answers
    assert found.agreement["exact"].accepted.value == 1.0
    # the filter is on both sides of both comparisons
    places = {int(doc[1:]) for _, doc in accepted(found, "new") | accepted(found, "old", "exact_accepted")}
    assert places
    assert all(place % 50 == 0 for place in places)


def test_c28_the_cause_is_the_filter_after_the_approximate_scan(tmp_path, dsn):
    angles = np.radians([0.02 * i if i < 1000 else 40 + i - 1000 for i in range(1020)])
    corpus = Corpus(
        tmp_path, dsn, [str(i) for i in range(1020)], np.stack([np.cos(angles), np.sin(angles)], axis=1), [[1, 0]]
    )
    index_on(corpus)
    source = {"where": "place >= 1000"}
    old = corpus.contract("pgvector cosine_similarity", 0.7, name="old", source=source)
    new = corpus.contract(
        "pgvector cosine_similarity", name="new", source=source | {"dsn": without_seqscan(corpus.dsn), "index": {}}
    )
    found = study(corpus, old, new)
    assert found.recall["new"]["at_k"].numerator == 0
    assert found.recall["new"]["at_k"].denominator == 10
    assert found.causes["filter"] == len(accepted(found, "old")) > 0
    assert found.agreement["deployed"].lost_answers == ["q0"]
    assert found.missing["new"] == {"q0": [str(row) for row in range(1000, 1010)]}


def test_c16_rows_that_cannot_be_indexed_are_a_line_of_their_own_and_no_lost_recall(tmp_path, dsn):
    corpus = Corpus(tmp_path, dsn, ["1", "2", "3", "5"], [[1, 0, 0], [0, 0, 0], [0.9, 0.1, 0], [-1, 0, 0]], [[1, 0, 0]])
    corpus.load("corpus")
    corpus.run("INSERT INTO corpus VALUES ('4', 9, NULL)")
    index_on(corpus)
    old = corpus.contract("pgvector cosine_distance", 0.2, name="old")
    indexed = {"dsn": without_seqscan(dsn), "index": {}}
    found = study(corpus, old, corpus.contract("pgvector cosine_distance", name="new", source=indexed))
    assert [rate.value for rate in found.recall["new"].values()] == [1.0, 1.0]
    assert accepted(found, "old") == accepted(found) == {("q0", "1"), ("q0", "3")}
    assert "2 rows cannot be indexed on the new side: 1 NULL, 1 zero vector." in found.findings
    assert len(found.flips) == 0


def test_c34_recall_of_an_index_made_empty_counts_common_documents_and_names_the_missing(tmp_path, dsn):
    rng = np.random.default_rng(0)
    vectors, queries = rng.normal(size=(3000, 8)), rng.normal(size=(20, 8))
    corpus = Corpus(tmp_path, dsn, [str(row) for row in range(3000)], vectors, queries)
    corpus.run(
        "SET client_min_messages = warning",
        "CREATE TABLE corpus (id text PRIMARY KEY, place int, embedding vector(8))",
        "CREATE INDEX corpus_i ON corpus USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20)",
    )
    corpus.fill("corpus")
    old = corpus.contract("pgvector cosine_distance", 0.2, name="old", normalisation="none")
    indexed = {"dsn": without_seqscan(dsn), "index": {"probes": 1}}
    new = corpus.contract("pgvector cosine_distance", name="new", normalisation="none", source=indexed)
    found = study(corpus, old, new)
    recall = found.recall["new"]["at_k"]
    exact, deployed = (
        {(row.query_id, row.doc_id) for row in found.pairs[found.pairs[f"new_{rank}"] <= 10].itertuples()}
        for rank in ("exact_rank", "rank")
    )
    assert (recall.numerator, recall.denominator) == (len(exact & deployed), 200)
    assert recall.numerator < 200
    missing = {(query, doc) for query, docs in found.missing["new"].items() for doc in docs}
    assert missing == exact - deployed
    assert found.new.describe()["index"]["settings"]["ivfflat.probes"] == "1"


def test_the_receipt_holds_what_tells_the_failures_apart_and_no_text(clustered, tmp_path):
    index_on(clustered)
    old = clustered.contract("faiss inner_product", 0.52, name="old")
    source = {"where": "place >= 0", "index": {"ef_search": 10}}
    new = clustered.contract("pgvector cosine_distance", name="new", source=source)
    found = study(clustered, old, new)
    saved = save_migration(found, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "migration.json").read_text(encoding="utf-8"))
    assert written == saved == migration_document(found)
    jsonschema.Draft202012Validator(migration_schema()).validate(written)
    # the filter lets everything through and the lists are full: what is missing is the index's
    assert written["causes"]["index miss"] > 0 == written["causes"]["filter"]
    side = written["receipt"]["sides"]["new"]
    assert side["adapter"].startswith("pgvector 0.")
    assert side["index"]["settings"]["hnsw.ef_search"] == "10"
    assert side["filter"] == "place >= 0"
    assert side["contract"]["normalisation"] == "query_and_document_unit_l2"
    first = written["receipt"]["queries"][0]
    assert len(first["new"]["candidates"]) == len(first["new"]["scores"]) == 10
    assert set(first["new"]["accepted"]) <= set(first["new"]["candidates"])
    assert set(first["old"]["exact_accepted"]) == set(first["old"]["accepted"])


def test_a_faiss_hnsw_index_is_searched_as_deployed(clustered):
    index = faiss.IndexHNSWFlat(384, 4, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 8
    index.add(clustered.vectors)
    faiss.write_index(index, str(clustered.folder / "h.faiss"))
    old = clustered.contract("faiss inner_product", 0.52, name="old")
    new = clustered.contract("faiss inner_product", name="new", source={"index": "h.faiss", "ef_search": 10})
    found = study(clustered, old, new)
    assert set(found.flips["cause"]) == {"index miss"}
    assert found.new.describe()["index"] == {"kind": "hnsw", "ef_search": 10}
    with pytest.raises(ParameterError, match="nprobe is for IVF"):
        study(
            clustered,
            old,
            clustered.contract("faiss inner_product", name="new", source={"index": "h.faiss", "nprobe": 3}),
        )


def test_faiss_ivf_pads_with_minus_one_and_ids_may_be_the_indexs_own(clustered):
    flat = faiss.IndexFlatIP(384)
    ivf = faiss.IndexIVFFlat(flat, 384, 500, faiss.METRIC_INNER_PRODUCT)
    ivf.train(clustered.vectors)
    mapped = faiss.IndexIDMap2(ivf)
    mapped.add_with_ids(clustered.vectors, np.arange(2000) + 5000)
    faiss.write_index(mapped, str(clustered.folder / "i.faiss"))
    new = clustered.contract(
        "faiss inner_product", 0.5, name="new", source={"index": "i.faiss", "ids": None, "nprobe": 1}
    )
    found = study(clustered, new, new)
    counts = [len(ids) for ids in found.new.deployed.ids]
    assert min(counts) < 10
    assert all(int(name) >= 5000 for ids in found.new.deployed.ids for name in ids)
    assert found.recall["new"]["at_k"].value < 1.0
