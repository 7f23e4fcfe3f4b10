"""A notebook as a function: small notebooks of this file's own, run by the real thing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from calibration.errors import NotebookError, ParameterError
from calibration.runs import declared_parameters, execute
from calibration.runs.redact import change_texts, without_secrets
from calibration.runs.values import plain_values, scalars

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _cache(run_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRATION_CACHE", str(run_cache))
    monkeypatch.setenv("JUPYTER_PATH", "")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")


@pytest.fixture
def notebook(tmp_path: Path) -> Write:
    def write(*cells: str, parameters: str | None = "floor = 0.5", kernel: Mapping[str, str] | None = None) -> Path:
        made = new_notebook(metadata={} if kernel is None else {"kernelspec": dict(kernel)})
        if parameters is not None:
            made.cells.append(new_code_cell(parameters, metadata={"tags": ["parameters"]}))
        made.cells += [new_code_cell(source) for source in cells]
        path = tmp_path / "made.ipynb"
        nbformat.write(made, path)
        return path

    return write


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail as soon as papermill is asked for anything."""

    def refuse(*arguments: Any, **options: Any) -> None:
        pytest.fail("a kernel would have been started")

    monkeypatch.setattr(papermill, "execute_notebook", refuse)


def printed(notebook: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))


@pytest.mark.usefixtures("no_kernel")
def test_c86_a_mistyped_parameter_is_refused_before_a_kernel_starts(notebook: Write, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter 'flor' \(did you mean 'floor'\?\)"):
        execute(notebook(), tmp_path / "out" / "done.ipynb", {"flor": 0.3})
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize(
    ("cells", "parameters", "words"),
    [
        (["1"], None, "has no parameters cell"),
        (["1"], "floor = 1 + 1", "'floor' of made.ipynb is computed"),
        (["1"], "import os", "assignments of plain values only, line 1"),
        (["1"], "a = b = 1", "assignments of plain values only"),
        (["1"], "a = (", "is no Python"),
    ],
)
def test_c86_a_notebook_without_plain_parameters_is_refused(
    notebook: Write, tmp_path: Path, cells: list[str], parameters: str | None, words: str
) -> None:
    with pytest.raises(NotebookError, match=words.replace("'", ".")):
        execute(notebook(*cells, parameters=parameters), tmp_path / "done.ipynb", {"floor": 0.3})


@pytest.mark.usefixtures("no_kernel")
def test_c86_two_parameters_cells_are_refused(notebook: Write, tmp_path: Path) -> None:
    made = nbformat.read(notebook(), as_version=4)
    made.cells.append(new_code_cell("floor = 0.1", metadata={"tags": ["parameters"]}))
    nbformat.write(made, tmp_path / "two.ipynb")
    with pytest.raises(NotebookError, match=r"two\.ipynb has 2 parameters cells; expected exactly one"):
        execute(tmp_path / "two.ipynb", tmp_path / "done.ipynb", {"floor": 0.3})


@pytest.mark.usefixtures("no_kernel")
def test_c85_a_value_that_is_not_plain_is_refused_before_a_kernel_starts(notebook: Write, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="floor: ndarray is no plain value"):
        execute(notebook(), tmp_path / "done.ipynb", {"floor": np.zeros(3)})


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("text", [None, "no json", '{"a": 1}'])
def test_what_is_no_notebook_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "x.ipynb"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(NotebookError, match=r"x\.ipynb"):
        execute(path, tmp_path / "done.ipynb", {})


def test_declared_parameters_are_names_and_defaults(notebook: Write) -> None:
    made = nbformat.read(notebook(parameters="a = 1  # one\nb = None\nc = 'x'\n"), as_version=4)
    assert declared_parameters(made, "made") == {"a": 1, "b": None, "c": "x"}


def test_c85_plain_values_keep_their_types() -> None:
    given = {"top_k": np.int64(5), "exact": np.bool_(False), "floor": np.float64(0.3), "ks": (1, 5), "none": None}
    found = plain_values(given)
    assert found == {"top_k": 5, "exact": False, "floor": 0.3, "ks": [1, 5], "none": None}
    assert [type(value) for value in found.values()] == [int, bool, float, list, type(None)]
    assert scalars({"a": [], "b": {}, "c": 0.0}) == {"a": "", "b": "", "c": 0.0}


def test_c85_c90_c91_types_kernel_and_path(notebook: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One kernel for all: a kernel name of another machine, numpy values, a folder with braces and a space."""
    source = notebook(
        "import sys; print((top_k, exact, round(floor, 6), ks), sys.executable)",
        parameters="top_k = 1\nexact = True\nfloor = 0.5\nks = ''",
        kernel={"name": "venv_old", "display_name": "Python (venv_old)", "language": "python"},
    )
    target = tmp_path / "no such folder" / "out_{model}.ipynb"
    values = {"top_k": np.int64(5), "exact": np.bool_(False), "floor": np.float32(0.3), "ks": (1, 5)}
    done = execute(source, target, values)
    import sys

    assert printed(done) == f"(5, False, 0.3, [1, 5]) {sys.executable}\n"
    assert [path.name for path in target.parent.iterdir()] == ["out_{model}.ipynb"]
    written = nbformat.read(target, as_version=4)
    assert written.metadata.kernelspec.name == "python3"
    assert "papermill" not in written.metadata
    assert capfd.readouterr() == ("", "")


def test_c90_a_notebook_without_kernelspec_runs(notebook: Write, tmp_path: Path) -> None:
    done = execute(notebook("print(floor)"), tmp_path / "done.ipynb", {"floor": 0.0})
    assert printed(done) == "0.0\n"


def test_a_kernel_interrupted_while_it_shuts_down_prints_nothing(
    notebook: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every shutdown begins with an interrupt; one that meets a kernel still tidying up is nothing to report."""
    source = notebook("""
import time
handlers = get_ipython().kernel.shell_handlers
answer = handlers["kernel_info_request"]  # the last thing asked of a kernel before it is stopped
async def slow(*args):
    await answer(*args)
    time.sleep(1)
handlers["kernel_info_request"] = slow
""")
    execute(source, tmp_path / "done.ipynb", {"floor": 0.0})
    assert capfd.readouterr() == ("", "")


def test_a_failing_cell_leaves_a_readable_notebook_and_what_was_there(notebook: Write, tmp_path: Path) -> None:
    target = tmp_path / "out" / "done.ipynb"
    target.parent.mkdir()
    target.write_text("earlier", encoding="utf-8")
    source = notebook("print('first')", "raise ValueError('no floor like that')", "print('never')")
    with pytest.raises(NotebookError, match=r"failed in cell 3: ValueError: no floor like that") as caught:
        execute(source, target, {"floor": 0.0})
    assert target.read_text(encoding="utf-8") == "earlier"
    assert sorted(path.name for path in target.parent.iterdir()) == ["done.failed.ipynb", "done.ipynb"]
    failed = nbformat.read(target.with_name("done.failed.ipynb"), as_version=4)
    assert str(target.with_name("done.failed.ipynb")) in str(caught.value)
    assert "first" in printed(failed)
    errors = [output for cell in failed.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    assert [error.ename for error in errors] == ["ValueError"]


def test_a_kernel_that_dies_is_said_to(notebook: Write, tmp_path: Path) -> None:
    source = notebook("print('first')", "import os; os._exit(9)")
    with pytest.raises(NotebookError, match=r"(?i)kernel died"):
        execute(source, tmp_path / "done.ipynb", {})
    assert not (tmp_path / "done.ipynb").exists()
    assert "first" in printed(nbformat.read(tmp_path / "done.failed.ipynb", as_version=4))


def test_c88_secrets_stand_in_no_output_and_no_message(
    notebook: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"PGPASSWORD": "S3cret\"P<w'", "OPENAI_API_KEY": "sk-abcdef", "CALIBRATION_DSN": "password=hidden1"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    show = "import os, html; secrets = [os.environ[n] for n in ('PGPASSWORD', 'OPENAI_API_KEY', 'CALIBRATION_DSN')]"
    fail = "raise RuntimeError(f'cannot connect to postgresql://u:{secrets[0]}@h/db with {secrets}')"
    source = notebook(show, "print(secrets); display({'text/html': html.escape(str(secrets))}, raw=True)", fail)
    with pytest.raises(NotebookError) as caught:
        execute(source, tmp_path / "done.ipynb", {})
    said = str(caught.value) + (tmp_path / "done.failed.ipynb").read_text(encoding="utf-8")
    for part in ("S3cret", "sk-abcdef", "hidden1"):
        assert part not in said
    assert "***" in said


def test_c88_a_password_that_is_a_word_of_the_format_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "code")
    made = new_notebook(cells=[new_code_cell("print('my code')")])
    change_texts(made, without_secrets)
    nbformat.validate(made)
    assert made.cells[0].source == "print('my ***')"
    assert made.cells[0].cell_type == "code"
