"""The page of the options, made by the command as its users do: a report and a document."""

from pathlib import Path

import jsonschema
from small_world import QUERY_CANARY, calibrate, document, files_with

from calibration.result import options_schema


def test_the_small_set_becomes_a_page_and_a_document(labels_folder: Path, run_cache: Path, tmp_path: Path) -> None:
    arguments = (
        "options", "--labels", labels_folder, "--rel-level", "1", "--no-probes", "--model", "wordllama",
        "--rerank-depth", "5", "--out", "out",
    )  # fmt: skip
    said = calibrate(*arguments, cwd=tmp_path, cache=run_cache)
    folder = tmp_path / "out"
    assert {path.name for path in folder.iterdir()} == {
        "options.html", "options.json", "options.ipynb", "options.run.json",
    }  # fmt: skip
    found = document(folder, "options.json")
    jsonschema.Draft202012Validator(options_schema()).validate(found)
    assert [one["name"] for one in found["options"]] == [
        "global_floor", "context_floors", "top_k", "rerank", "hybrid",
    ]  # fmt: skip
    for one in found["options"]:
        assert one["measured"] or one["not_measured_because"]
    assert any("too few queries to hold any out" in caveat for caveat in found["caveats"]) or not any(
        one["thresholds"] for one in found["options"]
    )
    assert "answers kept" in said.stdout
    assert "lost answers" in said.stdout
    page = (folder / "options.html").read_text(encoding="utf-8")
    assert "If you can least afford lost answers" in page
    assert files_with(folder, QUERY_CANARY) == [], "ids, no texts"
    about = document(folder, "options.run.json")
    assert about["command"].startswith("calibrate options ")
