"""The committed notebooks: thin, parameterised, without outputs; a page of prose around calls of the library."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from calibration.params import RunParams, parameters, validated
from calibration.resources import bundled
from calibration.runs import declared_parameters
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.options.params import OptionsParams

NOTEBOOKS = sorted(bundled("notebooks").glob("*.ipynb"))
KINDS: dict[str, Any] = {"hybrid": HybridParams, "migrate": MigrateParams, "options": OptionsParams}
"""Notebooks whose parameters are more than those of a run."""
LINES, CELLS = 12, 12
OF_FILES = {"compare_runs": {"old", "new", "out"}}
"""Notebooks whose parameters are files only."""
NOT_THIN = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.For,
    ast.While,
    ast.If,
    ast.With,
    ast.Try,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
SQL = re.compile(r"(?i)\b(select\s.+\sfrom|insert\s+into|create\s+table|delete\s+from)\b")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def names_bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


def test_the_two_notebooks_of_the_main_job_are_there() -> None:
    assert {"calibrate", "compare_models"} <= {path.stem for path in NOTEBOOKS}


@each
def test_it_is_valid_and_holds_nothing_of_a_run(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    for cell in notebook.cells:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cell.id), "a cell's id says what it shows"
        assert set(cell.metadata) <= {"tags"}
    for cell in code(path):
        assert cell.outputs == []
        assert cell.execution_count is None


@each
def test_it_is_thin(path: Path) -> None:
    cells = code(path)
    assert len(cells) <= CELLS
    for cell in cells:
        if "parameters" in cell.metadata.get("tags", []):
            continue
        assert len(cell.source.splitlines()) <= LINES
        assert not cell.source.lstrip().startswith(("%", "!"))
        assert not SQL.search(cell.source)
        assert "chdir" not in cell.source
        found = [type(node).__name__ for node in ast.walk(ast.parse(cell.source)) if isinstance(node, NOT_THIN)]
        assert found == [], cell.id


@each
def test_its_first_cell_asks_the_question(path: Path) -> None:
    first = nbformat.read(path, as_version=4).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "**Question.**" in first.source


@each
def test_its_parameters_are_those_of_a_run_with_the_same_defaults(path: Path) -> None:
    declared = declared_parameters(nbformat.read(path, as_version=4), path.name)
    lines = code(path)[0].source.splitlines()
    assert all(re.search(r"\S  +# \S", line) for line in lines), "one comment each: papermill turns it into help"
    if path.stem in OF_FILES:
        assert set(declared) == OF_FILES[path.stem]
        return
    kind = KINDS.get(path.stem, RunParams)
    fields = dict(kind.model_fields)
    if "models" in declared:
        fields.pop("model")
        assert all(parameters({"model": name}) for name in declared.pop("models").split(","))
    assert set(declared) == set(fields)
    for name, value in declared.items():
        assert value is None or isinstance(value, str | int | float | bool), "scalars only"
        if name not in ("model", "out"):
            assert getattr(validated(kind, {name: value}), name) == kind.model_fields[name].get_default(
                call_default_factory=True
            ), name


@each
def test_nothing_rebinds_a_parameter(path: Path) -> None:
    declared = set(declared_parameters(nbformat.read(path, as_version=4), path.name))
    later = [name for cell in code(path)[1:] for name in names_bound(ast.parse(cell.source))]
    assert declared.isdisjoint(later)


@each
def test_it_uses_the_public_library_only(path: Path) -> None:
    for cell in code(path):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                assert node.module.split(".")[0] == "calibration"
                assert "*" not in [alias.name for alias in node.names]
            assert not isinstance(node, ast.Import)
