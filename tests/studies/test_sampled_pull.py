"""A pull that reads some blocks only: what it says exactly, and how far off the rest may be."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import psycopg
import pytest
from handmade import labels_of

from calibration.errors import StoreError
from calibration.scores import Scores
from calibration.sources.postgres import PostgresSource
from calibration.sources.postgres.load import load_vectors
from calibration.studies import pull as pull_module
from calibration.studies import sample as sample_module
from calibration.studies.pull import pull_scores

pytestmark = pytest.mark.server
ROWS, WIDTH, QUERIES = 8000, 16, 10


@pytest.fixture
def pull(server_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Scores]]:
    """8,000 vectors, alike with their neighbours in the table; 10 queries, judged passages far down their lists."""
    rng = np.random.default_rng(5)
    centre = rng.standard_normal((40, WIDTH)).repeat(ROWS // 40, axis=0)
    vectors = (centre + 0.7 * rng.standard_normal((ROWS, WIDTH))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = rng.standard_normal((QUERIES, WIDTH)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    ids = [f"q{i}" for i in range(QUERIES)]
    order = np.argsort(-(queries @ vectors.T), axis=1)
    labels = labels_of(ids, [(name, f"d{order[i, 3000]}", 1) for i, name in enumerate(ids)] + [("q0", "d7", 0)])
    monkeypatch.setattr(pull_module, "SAMPLED_PART_ROWS", 200)
    monkeypatch.setattr(sample_module, "SAMPLED_PART_ROWS", 200)
    monkeypatch.setattr(sample_module, "SAMPLED_ROWS", 2400)
    table = "vectors_sample"
    load_vectors(server_dsn, table, [f"d{i}" for i in range(ROWS)], vectors)

    def run(strategy: str, **columns: object) -> Scores:
        source = PostgresSource(server_dsn, table, metric="cosine_similarity", **columns)
        scores, facts = pull_scores(
            source,
            ids,
            queries,
            labels,
            metric="cosine_similarity",
            embedding_version="made",
            k_max=5,
            strategy=strategy,
        )
        assert facts.scorable == ROWS == scores.n_documents
        return scores

    yield run
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"DROP TABLE {table}")


def test_best_and_judged_are_exact_and_the_rest_is_within_its_bound(pull: Callable[..., Scores]) -> None:
    whole, some = pull("fetch"), pull("sample")
    assert whole.sample is None
    assert some.sample is not None
    assert some.everything is None
    pd.testing.assert_frame_equal(some.top, whole.top, check_exact=False, rtol=0, atol=1e-6)
    pd.testing.assert_frame_equal(
        some.judged.drop(columns="rank"), whole.judged.drop(columns="rank"), check_exact=False, rtol=0, atol=1e-6
    )
    assert some.judged["similarity"].notna().all()
    facts = some.sample
    assert (facts.of, facts.parts) == (ROWS, 12)
    assert facts.rows == int(some.histogram.counts[0].sum()) < ROWS / 2
    above = [scores.histogram.counts.sum(axis=0)[::-1].cumsum()[::-1] for scores in (some, whole)]
    share, truth = (counts / counts[0] for counts in above)
    assert 0 < facts.error < 0.3
    assert np.abs(share - truth).max() <= facts.error


def test_a_small_corpus_is_read_whole(pull: Callable[..., Scores], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_module, "SAMPLED_ROWS", 10 * ROWS)
    some = pull("sample")
    assert some.sample is not None
    assert (some.sample.rows, some.sample.error) == (ROWS, 0.0)
    assert (some.histogram.counts.sum(axis=1) == ROWS).all()


def test_documents_cannot_be_sampled(pull: Callable[..., Scores]) -> None:
    with pytest.raises(StoreError, match="passages, not documents"):
        pull("sample", document_column="id")


def test_the_bound_knows_neighbours_that_are_alike() -> None:
    """Four of eight blocks with shares 0, 0, 1, 1: 1.96 * sqrt((1 - 1/2) / 4 * (1/3)) by hand."""
    above = np.array([[0.0], [0.0], [5.0], [5.0]])
    assert sample_module._error(above, np.array([5, 5, 5, 5]), 8) == pytest.approx(1.96 * np.sqrt(0.125 / 3))
    assert np.isnan(sample_module._error(above[:1], np.array([5]), 8))


def test_the_reader_is_told(pull: Callable[..., Scores]) -> None:
    from calibration.displays.bands import _counted
    from calibration.studies.caveats import _scores

    some = pull("sample")
    assert _counted(some).startswith("a sample of the passages (3")
    [said] = _scores(some)
    assert said.startswith("Only a sample of the corpus was read: 2,4")
    assert "in 12 of 38 blocks" in said
