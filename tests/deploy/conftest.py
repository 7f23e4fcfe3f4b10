"""The bundled sample, calibrated, with its vectors: what every system of the deploy sheet is run on."""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from deployed import own_schema
from systems import World

from calibration.embed import VectorCache, open_embedder
from calibration.params import RunParams
from calibration.studies.calibrate import calibrate
from calibration.studies.inputs import passage_texts, query_texts, read_inputs
from calibration.studies.model import Calibration


@dataclass(frozen=True)
class Sample:
    """A calibration of the whole sample, and the vectors behind it."""

    calibration: Calibration
    doc_ids: list[str]
    vectors: np.ndarray
    query_ids: list[str]
    queries: np.ndarray


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    from calibration.sources.postgres.server import remove_embedded

    cache = tmp_path_factory.mktemp("deploy-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(cache))
        params = RunParams(model="wordllama", probes=False)
        found = calibrate(params)
        inputs = read_inputs(params)
        embedder, store = open_embedder("wordllama"), VectorCache(Path(cache))
        passages = store.embed(embedder, passage_texts(inputs.labels), "passage")
        queries = store.embed(embedder, query_texts(inputs), "query")
        corpus = inputs.labels.corpus
        assert corpus is not None
        yield Sample(found, corpus["doc_id"].tolist(), passages, inputs.query_ids, queries)
    remove_embedded(cache)


@pytest.fixture
def world(sample: Sample, server_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    with own_schema(server_dsn) as dsn:
        made = World(dsn, sample.doc_ids, sample.vectors, sample.query_ids, sample.queries)
        yield made
        made.close()
        # stores that leave their connection to the collector: while this test's warnings are still its own
        gc.collect()
