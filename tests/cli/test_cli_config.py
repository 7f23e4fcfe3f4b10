"""Options, --set, calibration.toml and the environment: who wins, and what is refused."""

import os
import shlex
from pathlib import Path

import pytest

from calibration.cli.config import read_config, run_parameters, setting
from calibration.errors import ParameterError
from calibration.params import SAMPLE_MODELS, RunParams, parameters
from calibration.studies.facts import NO_OPTION, command


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALIBRATION_DSN", raising=False)
    monkeypatch.setenv("PGPASSWORD", "before")


def config(text: str) -> Path:
    path = Path("calibration.toml")
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_given_is_the_sample_with_three_models() -> None:
    found = run_parameters({})
    assert tuple(one.model for one in found) == SAMPLE_MODELS
    assert {one.out for one in found} == {"reports/runs/sample"}


def test_own_labels_get_one_quick_model_and_a_folder_of_their_own() -> None:
    [found] = run_parameters({"labels": "some/folder"})
    assert (found.model, found.out) == ("minilm", "reports/runs/folder")


def test_ready_scores_and_vectors_need_no_model() -> None:
    assert [one.model for one in run_parameters({"scores": "s.csv"})] == [None]
    assert [one.model for one in run_parameters({"vectors": "v.npz", "labels": "l"})] == [None]


def test_options_win_over_set_and_set_over_the_file() -> None:
    config('models = ["minilm", "wordllama"]\ntop_k = 3\ntarget = 0.8\nold_floor = 0.78\nprobes = false\n')
    found = run_parameters({"model": ["wordllama"], "old_floor": 0.0}, None, ["target=0.95", "old_floor=0.5"])
    assert [one.model for one in found] == ["wordllama"]
    assert (found[0].top_k, found[0].target, found[0].old_floor, found[0].probes) == (3, 0.95, 0.0, False)
    assert [one.model for one in run_parameters({})] == ["minilm", "wordllama"]
    assert run_parameters({}, None, ["models=['minilm']"])[0].model == "minilm"
    assert run_parameters({}, None, ["model=wordllama"])[0].model == "wordllama"


def test_a_file_named_wins_over_the_one_that_lies_here(tmp_path: Path) -> None:
    config("top_k = 3\n")
    other = tmp_path / "other.toml"
    other.write_text("top_k = 4\n", encoding="utf-8-sig")
    assert run_parameters({"model": ["minilm"]}, other)[0].top_k == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('modle = "x"', "unknown parameter 'modle' (did you mean 'model'?)"),
        ('models = "minilm"', 'expected a list of names, such as ["minilm"]'),
        ("models = [5]", "expected a list of names"),
        ('model = "a"\nmodels = ["b"]', "either model or models"),
        ("[section]\nx = 1", "unknown parameter 'section'"),
        ("top_k = ", "not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        read_config(config(text))
    assert words in str(caught.value)


def test_a_missing_file_says_how_to_get_one() -> None:
    with pytest.raises(ParameterError, match="`calibrate init` writes one"):
        run_parameters({}, Path("nowhere.toml"))


def test_a_value_of_set_is_what_it_would_be_in_the_file() -> None:
    assert setting("a=1") == ("a", 1)
    assert setting("a=0.0") == ("a", 0.0)
    assert setting("a = true") == ("a", True)
    assert setting("a=SELECT id AS query_id FROM t WHERE x = 1") == ("a", "SELECT id AS query_id FROM t WHERE x = 1")
    with pytest.raises(ParameterError, match="expected NAME=VALUE"):
        setting("target")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": ["a", "a"]}, "named more than once"),
        ({"model": ["a", "b"], "scores": "s.csv"}, "holds what one model made"),
        ({"model": ["a", "b"], "vectors": "v.npz"}, "holds what one model made"),
        ({"model": ["a", "b"], "table": "t", "dsn": "host=h"}, "the model_column that tells them apart"),
    ],
)
def test_several_models_on_the_vectors_of_one_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run_parameters(given)


def test_several_models_in_one_table_are_told_apart_by_a_column() -> None:
    found = run_parameters({"model": ["a", "b"], "table": "t", "dsn": "host=h"}, None, ["model_column=m"])
    assert [one.model for one in found] == ["a", "b"]


def test_c88_a_password_moves_into_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    [found] = run_parameters({"dsn": "postgresql://u:S3cretPw@h/db", "table": "t"})
    assert "S3cretPw" not in repr(found)
    assert os.environ["PGPASSWORD"] == "S3cretPw"


def test_a_dsn_of_the_environment_counts_where_a_table_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRATION_DSN", "postgresql://u:S3cretPw@h/db")
    assert run_parameters({})[0].dsn is None
    [found] = run_parameters({"table": "t", "labels": "l"})
    assert found.dsn is not None
    assert "S3cretPw" not in found.dsn
    assert run_parameters({"table": "t", "service": "s"})[0].dsn is None


EVERYTHING: dict[str, object] = {
    "labels": "my labels",
    "rel_level": 2,
    "unjudged": "nonrelevant",
    "answerability_by_kind": {"a": "unknown", "b c": "off_topic"},
    "allow_dangling": True,
    "vectors": "v.npz",
    "dsn": "host=h",
    "table": "t",
    "id_column": "i",
    "vector_column": "v",
    "document_column": "d",
    "model_column": "m",
    "model_value": "mv",
    "where": "a = 'b c' -- \"",
    "metric": "l2",
    "strategy": "sql",
    "statement_timeout": 0,
    "base_url": "http://127.0.0.1:1/v1",
    "dimensions": 8,
    "query_prefix": "query: ",
    "passage_prefix": " ",
    "probes": False,
    "probes_file": "p.jsonl",
    "languages": ["en", "pl"],
    "exclude_subjects": ["cars", "film"],
    "preset": "refusal",
    "miss_cost": 0.5,
    "false_cost": 2.0,
    "off_topic_share": 0.0,
    "top_k": 5,
    "k_max": 7,
    "target": 0.8,
    "confidence": 0.95,
    "old_floor": 0.0,
    "inclusive": False,
    "seed": 0,
    "workers": 3,
    "backend": "dask",
    "scheduler": "tcp://s:8786",
    "out": "a b/{x}",
    "show_text": True,
    "model": "wordllama",
}


def parsed(words: list[str], monkeypatch: pytest.MonkeyPatch) -> RunParams:
    """What the command line makes of a command, without running it."""
    import calibration.runs
    from calibration.cli import app

    caught: list[RunParams] = []

    class _Caught(Exception):
        pass

    def catch(params: list[RunParams], *_: object, **__: object) -> None:
        caught.extend(params)
        raise _Caught

    monkeypatch.setattr(calibration.runs, "run", catch)
    with pytest.raises(_Caught):
        app(words)
    [found] = caught
    return found


def test_the_command_in_the_report_gives_the_same_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    params = parameters(EVERYTHING)
    words = shlex.split(command(params))
    assert words[:2] == ["calibrate", "run"]
    assert parsed(words[1:], monkeypatch) == params


def test_labels_in_sql_are_in_the_command_too(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "queries_sql": 'SELECT "a" FROM b',
        "qrels_sql": "SELECT 'é'",
        "service": "s",
        "table": "t",
        "model": "wordllama",
    }
    params = parameters(values)
    assert parsed(shlex.split(command(params))[1:], monkeypatch) == params


@pytest.mark.parametrize("formula", ["(1+cos)/2", "affine:-1,0.5"])
def test_c06_the_formula_of_a_score_file_is_in_the_command_too(formula: str, monkeypatch: pytest.MonkeyPatch) -> None:
    params = parameters({"scores": "s.csv", "score_transform": formula})
    assert parsed(shlex.split(command(params))[1:], monkeypatch) == params


def test_everything_above_is_every_parameter() -> None:
    elsewhere = {"queries", "qrels", "corpus", "queries_sql", "qrels_sql", "scores", "score_transform", "service"}
    assert set(EVERYTHING) | elsewhere == set(RunParams.model_fields)
    assert set(RunParams.model_fields) >= NO_OPTION


def test_c88_a_password_in_a_url_is_not_repeated() -> None:
    params = parameters({"model": "openai:m", "base_url": "https://u:S3cretPw@h/v1"})
    assert "S3cretPw" not in command(params)
