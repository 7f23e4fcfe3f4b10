"""Corpora that the migration tests deploy."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from deployed import Corpus, own_schema, seeds_fixture, unit


@pytest.fixture
def dsn(server_dsn: str) -> Iterator[str]:
    """A schema of this test's own on the embedded server."""
    with own_schema(server_dsn) as address:
        yield address


@pytest.fixture
def seed(tmp_path: Path, dsn: str) -> Corpus:
    """The first seed's fixture, with a query whose best candidate is near the floor and one far below it."""
    return seeds_fixture(tmp_path, dsn)


@pytest.fixture
def clustered(tmp_path: Path, dsn: str) -> Corpus:
    """2,000 x 384 unit vectors in 40 clusters, and 40 queries near some of them."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(40, 384))
    vectors = unit(centres[rng.integers(0, 40, 2000)] + 0.9 * rng.normal(size=(2000, 384)))
    queries = unit(centres + 0.9 * rng.normal(size=(40, 384)))
    return Corpus(tmp_path, dsn, [f"d{row}" for row in range(2000)], vectors, queries)
