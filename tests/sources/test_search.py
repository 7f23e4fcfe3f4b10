"""The same tests through every adapter: pgvector by each operator, Faiss, numpy, and a score file."""

from pathlib import Path

import numpy as np
import pytest
from deployed import BACKENDS, Corpus, own_schema, unit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibration.contract import ScoreContract, convert, metric_named, read_contract
from calibration.errors import ContractError, ParameterError, StoreError
from calibration.sources.search import Queries
from calibration.studies.migrate.source import open_searcher

pytestmark = pytest.mark.server
every = pytest.mark.parametrize("backend", BACKENDS)
COSINE = ScoreContract(embedding_version="fixture-v1")


@pytest.fixture
def seed(tmp_path: Path, dsn: str) -> Corpus:
    """The fixture of the first seed: cosines 0.9, 0.7 and 0.3 against one query."""
    cosines = np.array([0.9, 0.7, 0.3])
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    return Corpus(tmp_path, dsn, ["A", "B", "C"], vectors, [[1, 0]])


def opened(corpus: Corpus, backend: str, **more):
    file = read_contract(corpus.contract(backend, **more))
    return file.contract, open_searcher(file), Queries(corpus.query_ids, corpus.queries)


def accepted(contract: ScoreContract, ids: list[str], raw: np.ndarray, floor: float) -> set[str]:
    return {name for name, kept in zip(ids, contract.accept(contract.similarity(raw), floor), strict=True) if kept}


@every
def test_the_seeds_fixture_ranks_alike_and_accepts_a_everywhere(seed, backend):
    contract, searcher, queries = opened(seed, backend)
    found = searcher.search(queries, 3)
    assert found.ids == [["A", "B", "C"]]
    rule = convert(0.8, COSINE, contract)
    assert accepted(contract, found.ids[0], found.scores[0], contract.similarity_of(rule.value)) == {"A"}
    assert contract.similarity(found.scores[0]).tolist() == pytest.approx([0.9, 0.7, 0.3], abs=contract.tolerance)


def by_hand(raw: np.ndarray, ids: list[str], rule) -> list[str]:
    return [name for name, kept in zip(ids, rule(raw), strict=True) if kept]


@pytest.mark.parametrize("backend", ["numpy squared_l2", "faiss squared_l2", "pgvector squared_l2"])
def test_the_seeds_copied_cutoff_admits_a_and_b_in_the_real_backend(seed, backend):
    _, searcher, queries = opened(seed, backend)
    found = searcher.search(queries, 3)
    assert by_hand(found.scores[0], found.ids[0], lambda raw: raw <= 0.8) == ["A", "B"]
    assert by_hand(found.scores[0], found.ids[0], lambda raw: raw <= 0.4) == ["A"]


@pytest.mark.parametrize("backend", ["numpy cosine_distance", "pgvector cosine_distance", "halfvec cosine_distance"])
def test_the_seeds_copied_direction_admits_none_in_the_real_backend(seed, backend):
    _, searcher, queries = opened(seed, backend)
    found = searcher.search(queries, 3)
    assert by_hand(found.scores[0], found.ids[0], lambda raw: raw >= 0.8) == []


@pytest.mark.parametrize("kind", ["numpy", "faiss", "pgvector"])
def test_the_seeds_long_vector_is_first_by_inner_product_and_behind_by_cosine(tmp_path, dsn, kind):
    corpus = Corpus(tmp_path, dsn, ["A", "long"], [[0.9, np.sqrt(0.19)], [7, np.sqrt(51)]], [[1, 0]])
    _, searcher, queries = opened(corpus, f"{kind} inner_product", normalisation="none")
    found = searcher.search(queries, 2)
    assert found.ids == [["long", "A"]]
    assert found.scores[0].tolist() == pytest.approx([7.0, 0.9])
    if kind != "faiss":
        _, searcher, queries = opened(corpus, f"{kind} cosine_similarity", normalisation="none")
        assert searcher.search(queries, 2).ids == [["A", "long"]]


@every
def test_c21_one_tolerance_decides_an_exact_floor_alike_everywhere(tmp_path, dsn, backend):
    corpus = Corpus(tmp_path, dsn, ["on", "off"], [[0.8, 0.6], [0.6, 0.8]], [[1, 0]])
    contract, searcher, queries = opened(corpus, backend)
    (raw,) = searcher.scores_of(queries, [["on", "off"]])
    rule = convert(0.8, COSINE, contract)
    assert accepted(contract, ["on", "off"], raw, contract.similarity_of(rule.value)) == {"on"}


@every
def test_all_scores_are_every_score_and_the_backends_own_numbers_agree(seed, backend):
    contract, searcher, queries = opened(seed, backend)
    if not searcher.complete:
        with pytest.raises(StoreError, match="not every score"):
            next(searcher.all_scores(queries))
        return
    (block,) = searcher.all_scores(queries)
    assert block.scores.shape == (1, 3)
    (own,) = searcher.scores_of(queries, [block.doc_ids])
    assert contract.similarity(block.scores[0]).tolist() == pytest.approx(contract.similarity(own).tolist(), abs=2e-6)
    assert searcher.preflight().rows == 3


@every
def test_unknown_documents_have_no_score_and_short_lists_are_not_padded(seed, backend):
    _, searcher, queries = opened(seed, backend)
    (raw,) = searcher.scores_of(queries, [["nobody", "B"]])
    assert np.isnan(raw).tolist() == [True, False]
    found = searcher.search(queries, 7)
    assert len(found.ids[0]) == len(found.scores[0]) == 3


@every
def test_what_is_described_names_adapter_and_metric_and_is_json(seed, backend):
    import json

    contract, searcher, queries = opened(seed, backend)
    searcher.search(queries, 2)
    about = json.loads(json.dumps(searcher.describe()))
    assert about["metric"] == contract.metric
    assert about["adapter"]
    assert about["index"] is None or about["kind"] == "faiss"


@st.composite
def worlds(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    width, n = draw(st.integers(2, 8)), draw(st.integers(1, 25))
    return unit(rng.normal(size=(n, width))), unit(rng.normal(size=(3, width))), draw(st.floats(-0.9, 0.9))


@given(worlds())
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_converted_rules_accept_the_same_set_in_every_metric_and_adapter(tmp_path_factory, server_dsn, world):
    vectors, asked, floor = world
    with own_schema(server_dsn) as address:
        folder = tmp_path_factory.mktemp("world")
        corpus = Corpus(folder, address, [f"d{row}" for row in range(len(vectors))], vectors, asked)
        exact = np.array(asked, dtype=np.float64) @ np.array(vectors, dtype=np.float64).T
        for backend in BACKENDS:
            contract, searcher, queries = opened(corpus, backend)
            rule = contract.similarity_of(convert(floor, COSINE, contract).value)
            raw = searcher.scores_of(queries, [corpus.ids] * 3)
            for row, values in enumerate(raw):
                kept = contract.accept(contract.similarity(values), rule)
                boundary = np.abs(exact[row] - floor) <= 2 * contract.tolerance
                assert (kept == (exact[row] >= floor))[~boundary].all(), backend
                raw_apart, apart = np.diff(np.sort(values)), np.diff(contract.similarity(np.sort(values)))
                assert (np.abs(apart[np.abs(raw_apart) > 1e-6]) > 0).all(), backend


def test_problems_of_a_source_are_named_at_once(seed):
    path = seed.contract("numpy l2", source={"kind": "pgvector", "tabel": "x", "index": 3})
    with pytest.raises(ContractError) as caught:
        open_searcher(read_contract(path))
    message = str(caught.value)
    assert "unknown field 'tabel'; did you mean 'table'?" in message
    assert "unknown field 'vectors'" in message
    assert "index is 3, expected an object" in message
    assert "table is missing" in message


@pytest.mark.parametrize("address", ["postgresql://u:S3cretPw@h/db", "host=h dbname=db sslpassword=S3cretPw"])
def test_a_contract_without_a_source_or_with_a_password_is_refused(seed, address):
    with pytest.raises(ContractError, match="names no source"):
        open_searcher(read_contract(seed.contract("numpy l2")).__class__(COSINE))
    path = seed.contract("pgvector l2", source={"dsn": address})
    with pytest.raises(ParameterError) as caught:
        open_searcher(read_contract(path))
    assert "S3cretPw" not in str(caught.value)


def test_the_l1_operator_is_refused_with_its_reason(seed):
    path = seed.contract("pgvector l2", source={"operator": "<+>"})
    with pytest.raises(StoreError, match=r"<\+> is refused: it gives the L1 .taxicab. distance"):
        open_searcher(read_contract(path))
    path = seed.contract("pgvector l2", source={"operator": "<=>"})
    with pytest.raises(ContractError, match="searches with <=>, but l2 comes from <->"):
        open_searcher(read_contract(path))


def test_c02_faiss_l2_is_squared_and_a_contract_that_says_l2_is_refused(seed):
    seed.contract("faiss squared_l2")
    path = seed.contract("numpy l2", source={"kind": "faiss", "index": "squared_l2.faiss", "vectors": None})
    with pytest.raises(ContractError, match=r"returns squared_l2 .METRIC_L2 is squared., the contract says l2"):
        open_searcher(read_contract(path))


def test_every_metric_of_the_table_has_a_direction():
    assert {metric_named(backend.split(" ")[1]).higher_is_better for backend in BACKENDS} == {True, False}
