"""A baseline that is missing, broken or mixed is refused by name, and nothing evaluated is never green."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from frozen_world import World

from calibration.errors import CalibrationError, ParameterError
from calibration.studies.check.baseline import read_baseline
from calibration.studies.check.study import check_baseline


def break_line(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(rows[0])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("recommendation.json", None, "no baseline"),
        ("queries.jsonl", None, "no baseline"),
        ("queries.jsonl", "", "0 queries evaluated"),
        ("queries.jsonl", "\n\n", "0 queries evaluated"),
        ("queries.jsonl", '{"query_id": "q"}\n', "line 1: answerability, group"),
        ("queries.jsonl", "[1]\n", "holds no JSON object"),
        ("recommendation.json", '{"floor": NaN}', "it holds NaN"),
        ("recommendation.json", "{}", "is no recommendation: model, floor"),
        ("recommendation.json", "not json", "cannot be read as JSON"),
        ("queries.jsonl", "{}\n{\n", "line 2 cannot be read as JSON"),
    ],
)
def test_c97_a_missing_or_broken_baseline_is_an_error(world: World, name: str, text: str | None, words: str) -> None:
    path = world.frozen().path.parent
    (path / name).unlink() if text is None else (path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=words):
        read_baseline(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("floor", "0.3", "floor is '0.3'"),
        ("floor", True, "floor is True"),
        ("floor", 10**400, "floor is"),
        ("top_k", 0, "top_k is 0"),
        ("top_k", None, "top_k is None"),
        ("rates", {}, "rates.in_sample are missing"),
        ("ceiling", None, "ceiling is None: input should be a valid dictionary$"),
        ("fingerprint", None, "fingerprint is None"),
        ("bands", [], "bands is"),
        ("contract", {}, "does not say its metric, score_transform, normalisation, threshold_inclusive"),
    ],
)
def test_a_baseline_of_impossible_values_is_refused(world: World, key: str, value: Any, words: str) -> None:
    path = world.frozen().path
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, key: value}), encoding="utf-8")
    with pytest.raises(ParameterError, match=words):
        read_baseline(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("query_id", 7), ("must", "hti"), ("must", None), ("probe", "no"), ("accepted", None), ("accepted", "d0"),
        ("accepted", [1]), ("hit", "yes"), ("answerability", "perhaps"), ("top_similarity", "0.3"),
    ],
)  # fmt: skip
def test_every_frozen_query_that_is_none_is_named(world: World, key: str, value: Any) -> None:
    path = world.frozen().path
    break_line(path.parent / "queries.jsonl", lambda row: row.update({key: value}))
    with pytest.raises(ParameterError, match=rf"cannot be compared with:\n  - line 1: {key}[.0]* is "):
        read_baseline(path)


def test_a_baseline_in_another_encoding(world: World) -> None:
    path = world.frozen().path
    plain = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + plain)
    assert read_baseline(path).floor == json.loads(plain)["floor"]
    path.write_bytes(plain.decode().encode("utf-16"))
    with pytest.raises(ParameterError, match="is not UTF-8"):
        read_baseline(path)


def test_queries_that_were_taken_out_of_a_baseline_are_noticed(world: World) -> None:
    path = world.frozen().path
    queries = path.parent / "queries.jsonl"
    lines = queries.read_text(encoding="utf-8").splitlines(keepends=True)
    queries.write_text("".join(line for line in lines if '"o' not in line), encoding="utf-8")
    with pytest.raises(ParameterError, match="queries answered are 60 of 60 in it, the recommendation says 60 of 100"):
        read_baseline(path)


def test_files_of_two_runs_are_refused(world: World) -> None:
    path = world.frozen().path

    def miss(row: dict[str, Any]) -> None:
        row["hit"] = not row["hit"]

    break_line(path.parent / "queries.jsonl", miss)
    with pytest.raises(ParameterError, match=r"does not belong to .* Commit both files of one run"):
        read_baseline(path)


def test_a_folder_or_a_file_of_any_name_is_a_baseline(world: World) -> None:
    baseline = world.frozen()
    shutil.copy(baseline.path, baseline.path.with_name("floor.json"))
    assert read_baseline(baseline.path.with_name("floor.json")).floor == baseline.floor


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_a_tolerance_is_a_share(world: World, tolerance: float) -> None:
    with pytest.raises(ParameterError, match="expected a share"):
        check_baseline(world.frozen(), world.params(), tolerance=tolerance)


def test_c97_nothing_evaluated_is_never_green(world: World) -> None:
    baseline = world.frozen()
    world.passages.clear()
    world.write("none.npz")
    with pytest.raises(CalibrationError, match="0 documents"):
        check_baseline(baseline, world.params(vectors="none.npz"))
    renamed = replace(baseline, queries=baseline.queries.assign(query_id="old-" + baseline.queries["query_id"]))
    with pytest.raises(ParameterError, match="0 queries evaluated"):
        check_baseline(renamed, world.params())
    (world.folder / "labels" / "queries.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(CalibrationError, match="0 queries"):
        check_baseline(baseline, world.params())


def test_c97_a_baseline_in_which_nothing_can_fail_is_never_green(world: World) -> None:
    baseline = world.frozen()
    nobody = baseline.queries.assign(answerability="unknown", must="-", hit=None)
    with pytest.raises(ParameterError, match="0 queries evaluated: none of the 100 frozen queries is answerable"):
        check_baseline(replace(baseline, queries=nobody), world.params())
