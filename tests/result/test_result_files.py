"""The files of a run, each whole or not at all."""

import json
import os
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from handmade import bands_of, calibration_of

from calibration.result import recommendation_schema, save, save_comparison, write_atomic, write_text
from calibration.studies.compare import carry_over
from calibration.studies.model import Calibration


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in a file for machines")


@pytest.fixture
def found() -> Calibration:
    labels, rows = bands_of([0.47, 0.52, 0.45], [0.18, 0.12, 0.20])
    return calibration_of(labels, [*rows, ("q0", "d é\u2028 0", 0.1)], name="żółw")


def test_what_is_saved_is_what_is_returned_and_valid(found: Calibration, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    document = save(found, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["queries.jsonl", "recommendation.json", "scores.parquet"]
    raw = (folder / "recommendation.json").read_bytes()
    assert json.loads(raw, parse_constant=refuse) == document
    assert "żółw".encode() in raw
    jsonschema.validate(document, recommendation_schema())
    lines = (folder / "queries.jsonl").read_bytes().decode().split("\n")
    assert lines[-1] == ""
    assert [json.loads(line, parse_constant=refuse)["query_id"] for line in lines[:-1]] == [
        "q0",
        "q1",
        "q2",
        "o0",
        "o1",
        "o2",
    ]
    frame = pd.read_parquet(folder / "scores.parquet")
    assert list(frame) == ["query_id", "doc_id", "similarity", "rank", "relevance", "band"]
    assert len(frame) == 7


def test_the_same_run_gives_the_same_bytes(found: Calibration, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(found, tmp_path / name)
    for name in ("recommendation.json", "queries.jsonl", "scores.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_text(path, "old\n")

    def fail(partial: Path) -> None:
        partial.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomic(path, fail)
    assert path.read_bytes() == b"old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_files_have_the_rights_of_any_new_file(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_the_comparison_is_saved_without_nan(found: Calibration, tmp_path: Path) -> None:
    labels, rows = bands_of([0.2, 0.3], [0.8, 0.9])
    other = calibration_of(labels, rows, name="none")
    document = save_comparison(carry_over((found, other)), tmp_path)
    raw = (tmp_path / "comparison.json").read_text(encoding="utf-8")
    assert json.loads(raw, parse_constant=refuse) == document
    assert len(document["pairs"]) == 4
    assert [pair["floor"] is None for pair in document["pairs"]] == [False, False, True, True]
