"""The check on a user's own table: a swap of the stored vectors is seen though the model of the queries is the same."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calibration import RunParams
from calibration.result import save
from calibration.studies.calibrate import calibrate
from calibration.studies.check.baseline import read_baseline
from calibration.studies.check.study import check_baseline

pytestmark = pytest.mark.server
WIDTH = 256


@pytest.fixture
def live(small_params: Callable[..., RunParams], database) -> Callable[..., RunParams]:
    def build(table: str) -> RunParams:
        return small_params(dsn=database.dsn, table=table, where="tenant = 'A'")

    return build


def copy_of(database, name: str, vectors: dict[str, np.ndarray]) -> None:
    """A table like `docs` with other vectors, which the reader may read."""
    with database.owner() as owner:
        owner.execute(f"CREATE TABLE {name} AS SELECT id, tenant, embedding FROM docs WHERE tenant = 'A'")
        for doc, vector in vectors.items():
            owner.execute(f"UPDATE {name} SET embedding = %s WHERE id = %s", (str(vector.tolist()), doc))
        owner.execute(f"GRANT SELECT ON {name} TO reader")


def test_c39_a_table_embedded_anew_with_another_model_of_the_same_width(
    live: Callable[..., RunParams], database, passages, wordllama_vectors: np.ndarray, tmp_path: Path
) -> None:
    """(b): no column names the model, the queries' model is the same, nothing errors."""
    rotation = np.linalg.qr(np.random.default_rng(4).normal(size=(WIDTH, WIDTH)))[0]
    turned = {passage["_id"]: vector for passage, vector in zip(passages, wordllama_vectors @ rotation, strict=True)}
    copy_of(database, "docs_same", {})
    copy_of(database, "docs_turned", turned)
    try:
        save(calibrate(live("docs")), tmp_path / "baseline")
        baseline = read_baseline(tmp_path / "baseline")
        same, other = (check_baseline(baseline, live(table)) for table in ("docs_same", "docs_turned"))
    finally:
        with database.owner() as owner:
            owner.execute("DROP TABLE docs_same, docs_turned")
    again = baseline.document["fingerprint"]["details"]["corpus"]["sample"]["embedded_again"]
    assert again["checked"] == 8
    assert again["lowest"]["cosine"] > 0.99
    assert [(change.part, change.consequence) for change in same.changes] == [("corpus", "recheck")]
    assert "as table" in same.changes[0].words
    assert same.accepted == ()
    stale = [change for change in other.changes if change.consequence == "stale"]
    assert "embedded today, has cosine" in stale[0].words
    assert "another model made what is stored" in stale[0].words
    assert "sampled passages have other vectors under the same ids" in stale[1].words
    assert other.stale
    assert "embedding" not in str(other.changes[0].old)
