"""Calibrating on a user's own table: read only, exact, filtered as asked, and gone from memory afterwards."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_world import QUERY_CANARY, calibrate, document, files_with

from calibration import CalibrationError, RunParams
from calibration.cli.config import run_parameters
from calibration.errors import ContractError, LabelError, StoreError
from calibration.sources.postgres import PostgresSource
from calibration.studies import calibrate as study
from calibration.studies import stage
from calibration.studies.inspect import inspect_question
from calibration.studies.machine import examine

pytestmark = pytest.mark.server
PASSWORD = "S3cretPw"  # noqa: S105
TENANT = "tenant = 'A'"

Params = Callable[..., RunParams]


@pytest.fixture
def on_table(small_params: Params, database) -> Params:
    def build(**values: object) -> RunParams:
        return small_params(**{"dsn": database.dsn, "table": "docs", "where": TENANT, **values})

    return build


def top(pulled: study.Pulled) -> dict[tuple[str, str], float]:
    frame = pulled.scores.top
    return dict(zip(zip(frame["query_id"], frame["doc_id"], strict=True), frame["similarity"], strict=True))


def test_c88_a_run_over_tcp_with_a_password(database, labels_folder: Path, run_cache: Path, tmp_path: Path) -> None:
    """The whole command: nothing changed in the database, no password anywhere, the same result as our own server's."""
    with_password = f"{database.dsn} password={PASSWORD}"
    arguments = ("run", "--labels", labels_folder, "--rel-level", 1, "--language", "pl", "--model", "wordllama")
    arguments += ("--table", "docs", "--where", TENANT, "--out", "out")
    before = database.everything()
    env = {"CALIBRATION_DSN": with_password, "OPENAI_API_KEY": "sk-h1dden-key"}
    first = calibrate(*arguments, cwd=tmp_path, cache=run_cache, env=env)
    again = calibrate(*arguments, "--dsn", with_password, "--json", cwd=tmp_path, cache=run_cache)
    wrong = calibrate(*arguments, "--dsn", with_password, "--id-column", "nr", cwd=tmp_path, cache=run_cache, ok=False)
    assert database.everything() == before
    for secret in (PASSWORD, "sk-h1dden-key", QUERY_CANARY):
        assert files_with(tmp_path, secret) == []
        assert files_with(run_cache / "pulls", secret) == []
        for done in (first, again, wrong):
            assert secret not in done.stdout + done.stderr
    assert wrong.returncode == 1
    assert "nr" in wrong.stderr
    found = document(tmp_path / "out" / "wordllama")
    left_out = r"1 passages? with a zero or invalid vector and 1 without one"
    assert any(re.search(left_out, said) for said in found["caveats"])
    assert document(tmp_path / "out" / "wordllama", "run.json")["parameters"]["where"] == TENANT
    assert json.loads(again.stdout)["models"][0]["unchanged"], "pulled again, and the same: nothing to write"
    assert "pull scores" in again.stderr
    assert list((run_cache / "pulls").glob("once-*")) == []


def test_the_table_gives_what_our_own_server_gives(on_table: Params, small_params: Params) -> None:
    theirs, ours = study.pull(on_table()), study.pull(small_params())
    mine = top(ours)
    assert set(top(theirs)) == set(mine)
    assert max(abs(value - mine[pair]) for pair, value in top(theirs).items()) < 1e-6
    assert theirs.scores.n_documents == ours.scores.n_documents == 24
    assert (theirs.scores.n_missing, theirs.scores.n_invalid) == (1, 1)
    assert theirs.facts["source"]["filter"] == TENANT


def test_the_filter_is_kept(on_table: Params) -> None:
    everything = study.pull(on_table(where=None))
    assert everything.scores.n_documents == 54
    assert any(doc.startswith("other-") for _, doc in top(everything))
    assert not any(doc.startswith("other-") for _, doc in top(study.pull(on_table())))


def test_sql_and_fetch_agree(on_table: Params) -> None:
    fetched, selected = top(study.pull(on_table(strategy="fetch"))), top(study.pull(on_table(strategy="sql")))
    assert fetched.keys() == selected.keys()
    assert max(abs(value - selected[pair]) for pair, value in fetched.items()) < 1e-6


@pytest.mark.parametrize("metric", ["l2", "inner_product", "cosine_distance"])
def test_on_unit_vectors_every_metric_gives_the_same_floor(on_table: Params, metric: str) -> None:
    """The zero vector has a length, so it is left out here: under L2 it could be scored."""
    where = f"{TENANT} AND id <> 'zero'"
    cosine, other = study.calibrate(on_table(where=where)), study.calibrate(on_table(where=where, metric=metric))
    assert cosine.floor is not None
    assert other.floor == pytest.approx(cosine.floor, abs=1e-5)
    assert other.scores.contract.metric == metric
    assert other.scores.contract.scale == "cosine similarity"


def test_c26_an_old_floor_is_checked_on_the_scale_that_was_found(on_table: Params) -> None:
    where = f"{TENANT} AND id <> 'zero'"
    with pytest.raises(ContractError, match=r"Did you mean 0\.78"):
        study.calibrate(on_table(where=where, metric="inner_product", old_floor=78))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"table": "dosc"}, "dosc"),
        ({"vector_column": "tenant"}, "tenant"),
        ({"id_column": "nr"}, "nr"),
        ({"where": "tenannt = 'A'"}, "tenannt"),
        ({"where": "tenant = 'C'", "allow_dangling": True}, "0 documents|no row"),
        ({"model": "minilm"}, "384 dimensions|different models"),
    ],
)
def test_mistakes_are_named(on_table: Params, values: dict[str, object], words: str) -> None:
    with pytest.raises(StoreError) as caught:
        study.pull(on_table(**values))
    assert re.search(words, str(caught.value)), caught.value
    assert PASSWORD not in str(caught.value)


def test_judged_passages_that_the_filter_hides_are_named_or_allowed(on_table: Params) -> None:
    with pytest.raises(LabelError, match="missing from the corpus"):
        study.pull(on_table(where="tenant = 'B'"))
    allowed = study.pull(on_table(where="tenant = 'B'", allow_dangling=True))
    assert allowed.scores.judged["similarity"].isna().all()


def test_a_table_is_never_taken_from_memory_outside_a_run(on_table: Params, run_cache: Path) -> None:
    before = set((run_cache / "pulls").glob("*"))
    study.pull(on_table())
    assert set((run_cache / "pulls").glob("*")) == before


def test_within_a_run_the_pull_is_found_again_and_then_forgotten(
    on_table: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(study.SESSION, "this one")
    first = study.pull(on_table())
    monkeypatch.setattr(study, "pull_vectors", lambda *_: pytest.fail("pulled a second time"))
    found = study.pull(on_table())
    assert found.content_hash() == first.content_hash()
    stage.forget_session("another one")
    assert study.found(on_table())
    stage.forget_session("this one")
    assert not study.found(on_table())
    with pytest.raises(BaseException, match="pulled a second time"):
        study.pull(on_table())


def test_c36_no_recommendation_from_a_partial_pull(
    on_table: Params, monkeypatch: pytest.MonkeyPatch, run_cache: Path
) -> None:
    """Something between the store and here cuts the answer after the first passages."""
    before = set((run_cache / "pulls").glob("*"))
    monkeypatch.setenv(study.SESSION, "partial")
    whole = PostgresSource.read

    def cut(self, part):
        for block in whole(self, part):
            yield replace(block, doc_ids=block.doc_ids[:10], vectors=block.vectors[:10])

    monkeypatch.setattr(PostgresSource, "read", cut)
    with pytest.raises(StoreError, match=r"pulled 10 of 24 scores \(truncated\)"):
        study.calibrate(on_table(strategy="fetch"))
    assert set((run_cache / "pulls").glob("*")) == before


def test_labels_from_sql_of_the_same_database(
    database, run_cache: Path, tmp_path: Path, on_table: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "calibration.toml").write_text(
        f"""
model = "wordllama"
dsn = "{database.dsn}"
table = "docs"
where = "{TENANT}"
queries_sql = "SELECT query_id, text, answerability FROM asked"
qrels_sql = "SELECT query_id, doc_id, relevance FROM judged"
rel_level = 1
languages = ["pl"]
""",
        encoding="utf-8",
    )
    env = {"PGPASSWORD": PASSWORD}
    said = calibrate("inspect", "refund of a plan", "--json", cwd=tmp_path, cache=run_cache, env=env)
    hits = json.loads(said.stdout)["hits"]
    assert len(hits) == 20
    assert hits == sorted(hits, key=lambda hit: -hit["similarity"])
    assert all(hit["preview"] is None for hit in hits), "the texts lie elsewhere"
    doctor = calibrate("doctor", "--json", cwd=tmp_path, cache=run_cache, env=env)
    facts = json.loads(doctor.stdout)["database"]
    assert (facts["rows"], facts["null_vectors"], facts["zero_vectors"]) == (26, 1, 1)
    assert [index["kind"] for index in facts["indexes"]] == ["hnsw"]
    assert "unknown parameter" not in doctor.stderr
    [params] = run_parameters({}, tmp_path / "calibration.toml")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    floor = study.calibrate(params).floor
    assert floor is not None
    assert floor == study.calibrate(on_table()).floor


def test_inspect_gives_one_question_and_the_bands_in_one_pull(
    on_table: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulls = []
    whole = PostgresSource.divided
    monkeypatch.setattr(
        PostgresSource, "divided", lambda self, *args, **options: pulls.append(1) or whole(self, *args, **options)
    )
    found = inspect_question("How do I cancel?", on_table(), limit=5)
    assert pulls == [1]
    assert found.n_documents == 24
    assert list(found.hits["rank"]) == [1, 2, 3, 4, 5]
    calibrated = study.calibrate(on_table())
    for name in ("best_relevant", "probes", "far_noise"):
        np.testing.assert_allclose(
            np.sort(found.bands[name].similarity), np.sort(calibrated.bands[name].similarity), atol=1e-6
        )


def test_doctor_finds_a_table_that_cannot_be_pulled(on_table: Params, database) -> None:
    assert examine(on_table()).problems == ()
    found = examine(on_table(table="dosc"))
    assert found.problems
    assert "dosc" in found.problems[0]
    assert PASSWORD not in json.dumps(found.facts)


def test_a_wrong_password_is_not_repeated(on_table: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "wr0ngPw")
    with pytest.raises(CalibrationError, match="password authentication failed") as caught:
        study.pull(on_table())
    assert "wr0ngPw" not in str(caught.value)
