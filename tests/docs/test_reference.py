"""docs/reference says what the code says: regenerated, compared, and held against what commands really write."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import typer
from pydantic import BaseModel
from small_world import calibrate, document

from calibration import HybridParams, MigrateParams, OptionsParams, RunParams
from calibration.cli import app
from calibration.result import comparison_schema

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("commands.md", "files.md", "parameters.md", "python.md")
REMEDY = "run `python docs/make_reference.py` and commit docs/reference"


@pytest.fixture(scope="module")
def maker() -> Iterator[ModuleType]:
    sys.path.insert(0, str(DOCS))
    try:
        import make_reference

        yield make_reference
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def fields(maker: ModuleType) -> dict[str, dict[str, str]]:
    from reference_pages.files import FIELDS

    return FIELDS


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_the_one_made_from_the_code(maker: ModuleType, name: str) -> None:
    pages = maker.pages()
    assert sorted(pages) == sorted(PAGES)
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == pages[name], f"{name} is out of date: {REMEDY}"


def test_every_command_stands_there_with_every_option(maker: ModuleType) -> None:
    text = maker.pages()["commands.md"]
    sections = dict(part.split("\n", 1) for part in text.split("\n## calibrate ")[1:])
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(sections) == sorted(commands)
    for name, command in commands.items():
        options = {option for one in command.params for option in one.opts if option.startswith("--")}
        assert all(f"| `{option}` |" in sections[name] for option in options), name


def test_every_option_and_parameter_has_a_meaning(maker: ModuleType) -> None:
    for page in ("commands.md", "parameters.md", "files.md"):
        rows = [line for line in maker.pages()[page].splitlines() if line.startswith("| `")]
        assert len(rows) > 50
        assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize("model", [RunParams, HybridParams, OptionsParams, MigrateParams])
def test_every_parameter_stands_there(maker: ModuleType, model: type[BaseModel]) -> None:
    text = maker.pages()["parameters.md"]
    assert [name for name in model.model_fields if f"| `{name}` |" not in text] == []


def test_every_field_of_a_schema_has_a_line_and_every_line_a_field(
    maker: ModuleType, fields: dict[str, dict[str, str]]
) -> None:
    from reference_pages.files import field_paths, schemas

    for name, schema in schemas().items():
        paths = dict(field_paths(schema))
        described = {path for path, one in paths.items() if "description" in one}
        said = set(fields[name])
        assert said <= set(paths), f"{name}: lines without a field"
        assert set(paths) - described <= said, f"{name}: fields without a line"


def test_a_field_that_is_not_a_constant_is_never_a_dump(maker: ModuleType) -> None:
    text = "".join(maker.pages().values())
    for leak in ("typing.", "<class", "OptionInfo", "PydanticUndefined", "ForwardRef", "object at 0x"):
        assert leak not in text


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, labels_folder: Path, run_cache: Path) -> Path:
    """A folder with what the commands write that have no schema, beside a run."""
    folder = tmp_path_factory.mktemp("runs")
    calibrate(
        "run", "--labels", labels_folder, "--rel-level", 1, "--language", "pl", "--model", "wordllama", "--out", "runs",
        cwd=folder, cache=run_cache,
    )  # fmt: skip
    checked = calibrate("check", "runs/wordllama", "--json", cwd=folder, cache=run_cache)
    (folder / "check.json").write_text(checked.stdout, encoding="utf-8")
    calibrate("compare", "runs/wordllama", "runs/wordllama", "--out", "compared", cwd=folder, cache=run_cache)
    (folder / "log.csv").write_text("query_id,doc_id,similarity,relevance\nq,a,0.5,1\n", encoding="utf-8")
    calibrate(
        "hybrid", "--signals", "log.csv", "--signal-metrics", "similarity=cosine_similarity", "--out", "hybrid",
        cwd=folder, cache=run_cache,
    )  # fmt: skip
    calibrate(
        "carry-labels", labels_folder / "corpus.jsonl", "--labels", labels_folder, "--rel-level", 1, "--out", "carried",
        cwd=folder, cache=run_cache,
    )  # fmt: skip
    return folder


@pytest.mark.slow
def test_files_without_a_schema_have_the_fields_that_are_listed(runs: Path, fields: dict[str, dict[str, str]]) -> None:
    one = runs / "runs" / "wordllama"
    rows = [json.loads(line) for line in (one / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {
        "queries_jsonl": set().union(*rows),
        "scores_parquet": set(pd.read_parquet(one / "scores.parquet").columns),
        "run_json": set(document(one, "run.json")),
        "comparison_json": set(comparison_schema()["properties"]),
        "check_json": set(document(runs, "check.json")),
        "compare_json": set(document(runs / "compared", "compare.json")),
        "hybrid_json": set(document(runs / "hybrid", "hybrid.json")),
        "carried_json": set(document(runs / "carried", "carried.json")),
        "recommendation": set(document(one)),
    }
    listed = {name: {field for field in fields[name] if "." not in field} for name in found}
    assert listed == found


@pytest.mark.slow
def test_the_list_of_files_is_the_list_of_files(runs: Path) -> None:
    text = (DOCS / "reference" / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in (runs / "runs" / "wordllama").iterdir()}
    assert {name for name in names if f"`{name}`" not in text} == set()


def test_exit_codes_are_those_of_the_command() -> None:
    from calibration.cli import errors

    text = (DOCS / "reference" / "README.md").read_text(encoding="utf-8")
    codes = (0, errors.ERROR, errors.USAGE, errors.REGRESSION, errors.CANCELLED)
    table = text[text.index("## Exit codes") : text.index("## Environment")]
    assert [line.split("|")[1].strip() for line in table.splitlines()[4:] if line] == [str(code) for code in codes]
