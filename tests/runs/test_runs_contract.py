"""The contract of a run, from outside: files, keys, streams, and what must not be in any file."""

import json
import re

import jsonschema
import nbformat
import pandas as pd
import pytest
from small_world import MARKUP, PASSAGE_CANARY, QUERY_CANARY, document, files_with

from calibration.result import recommendation_schema

MODELS = ("wordllama", "minilm")
FILES = ["notebook.ipynb", "queries.jsonl", "recommendation.json", "report.html", "run.json", "scores.parquet"]


def test_the_files_of_a_run(finished) -> None:
    for model in MODELS:
        assert sorted(path.name for path in (finished.folder / model).iterdir()) == FILES
    beside = {"comparison.html", "comparison.ipynb", "comparison.json", "comparison.run.json", *MODELS}
    assert {path.name for path in finished.folder.iterdir()} == beside
    assert [path.name for path in finished.cwd.iterdir()] == ["runs"]


def test_recommendation_follows_its_schema_and_says_where_it_comes_from(finished) -> None:
    for model in MODELS:
        found = document(finished.folder / model)
        jsonschema.validate(found, recommendation_schema())
        assert found["model"] == model
        assert found["queries"]["answerable"] == 12
        assert found["queries"]["probes"] == 100
        run = document(finished.folder / model, "run.json")
        assert run["fingerprint"] == found["fingerprint"]
        assert set(run) >= {"parameters", "command", "inputs", "files", "seconds", "versions", "finished"}
        assert set(run["files"]) == set(FILES) - {"run.json"}
        assert run["parameters"]["out"] == "runs/{a} b"
        assert run["command"].startswith("calibrate run --model " + model)


def test_queries_and_scores_are_readable_and_agree(finished) -> None:
    folder = finished.folder / "wordllama"
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [sum(query["probe"] is probe for query in queries) for probe in (False, True)] == [19, 100]
    scores = pd.read_parquet(folder / "scores.parquet")
    assert list(scores.columns[:5]) == ["query_id", "doc_id", "similarity", "rank", "relevance"]
    assert str(scores["similarity"].dtype) == "float32"
    for query in queries:
        mine = scores[scores["query_id"] == query["query_id"]]
        assert len(mine) == 24, "every passage at threshold zero"
        assert mine["similarity"].max() == pytest.approx(query["top_similarity"], abs=1e-6)


def test_the_models_have_different_floors_and_the_comparison_names_each_pair(finished) -> None:
    floors = {model: document(finished.folder / model)["floor"] for model in MODELS}
    assert abs(floors["wordllama"] - floors["minilm"]) > 0.02
    comparison = document(finished.folder, "comparison.json")
    pairs = {(pair["from_model"], pair["to_model"]): pair for pair in comparison["pairs"]}
    assert set(pairs) == {(a, b) for a in MODELS for b in MODELS}
    assert pairs["wordllama", "minilm"]["floor"] == floors["wordllama"]
    assert pairs["wordllama", "minilm"]["rates"]["hit_rate"]["denominator"] == 12
    assert document(finished.folder, "comparison.run.json")["models"] == list(MODELS)


def test_stdout_is_data_and_stderr_is_progress(finished) -> None:
    said = finished.done
    for model in MODELS:
        floor = document(finished.folder / model)["floor"]
        assert re.search(rf"^{model} +floor {floor} +top-K \d+", said.stdout, re.MULTILINE)
        assert f"runs/{{a}} b/{model}/report.html" in said.stdout
        # another test may have left the scores of this model in the cache they share
        stages = (f"{model}: embed passages: 24 texts\n", f"{model}: scores of the same inputs found")
        assert any(stage in said.stderr for stage in stages)
    assert re.search(r"^seconds .*scores wordllama \d+\.\d", said.stdout, re.MULTILINE)
    assert "notebooks and reports: 2 models\n" in said.stderr
    assert "embed" not in said.stdout
    assert "Warning" not in said.stderr


def test_no_text_of_queries_or_passages_stands_in_any_file(finished) -> None:
    for canary in (QUERY_CANARY, PASSAGE_CANARY, MARKUP):
        assert files_with(finished.folder, canary) == []
        assert canary not in finished.done.stdout + finished.done.stderr


def test_no_text_is_kept_in_the_cache(finished) -> None:
    kept = [path for path in (finished.cache / "pulls").rglob("*") if path.is_file()]
    assert kept
    for path in [*kept, finished.cache / "vectors-1.sqlite"]:
        assert QUERY_CANARY.encode() not in path.read_bytes()


def test_the_staging_folder_is_gone_and_in_no_file(finished) -> None:
    assert files_with(finished.folder, ".partial-") == []
    notebook = nbformat.read(finished.folder / "wordllama" / "notebook.ipynb", as_version=4)
    assert 'out = "runs/{a} b"' in "".join(cell.source for cell in notebook.cells)


def test_c92_reports_ask_for_nothing_outside(finished) -> None:
    pages = sorted(finished.folder.rglob("*.html"))
    assert len(pages) == 3
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""(?i)(src|href)\s*=\s*["']?\s*(https?:)?//""", text)
        assert not re.search(r"""(?i)(@import|url\(\s*["']?(https?:)?//|<script\s|<iframe|<object|<embed)""", text)
        assert "default-src 'none'" in text
        assert "<svg" in text
        assert text.count("<script>") == (0 if page.name == "comparison.html" else 1), "the explorer, and nothing else"


def test_the_report_repeats_the_command(finished) -> None:
    assert "calibrate run --model wordllama" in (finished.folder / "wordllama/report.html").read_text(encoding="utf-8")


def test_notebooks_of_a_run_are_whole_and_open_anywhere(finished) -> None:
    for path in finished.folder.rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "python3"
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in code)
        assert not [output for cell in code for output in cell.outputs if output.output_type in ("error", "stream")]
