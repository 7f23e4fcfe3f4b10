"""One notebook with parameters, as a page: made once, found again, never half there."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from calibration import CalibrationError
from calibration.runs import Page, run_page

PARAMETERS = 'number = 1  # a number\nwords = ""  # a list\nout = "."  # folder'
WRITE = """import json, pathlib
path = pathlib.Path(out) / "small.json"
path.write_text(json.dumps({"number": number, "words": words}))
print(out)
pathlib.Path(out).name"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    cells = [new_markdown_cell("# A small page"), new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
    folder = tmp_path / "resources" / "notebooks"
    folder.mkdir(parents=True)
    nbformat.write(new_notebook(cells=[*cells, new_code_cell(WRITE)]), folder / "small.ipynb")
    monkeypatch.setattr("calibration.runs.page.bundled", lambda name: tmp_path / "resources" / name)
    monkeypatch.setenv("JUPYTER_PATH", "")
    return Page("small.ipynb", "small", "Small")


def about(folder: Path) -> dict[str, object]:
    return json.loads((folder / "small.run.json").read_text(encoding="utf-8"))


def test_it_is_made_once_and_again_only_when_something_changed(page: Page, tmp_path: Path) -> None:
    out = tmp_path / "out"
    values = {"number": 3, "words": ["a", "b"]}
    first = run_page(page, values, out, content="scores 1", about={"command": "calibrate small"})
    assert first.document == {"number": 3, "words": "a, b"}
    assert sorted(path.name for path in out.iterdir()) == ["small.html", "small.ipynb", "small.json", "small.run.json"]
    assert set(first.seconds) == {"notebook", "report"}
    assert about(out)["command"] == "calibrate small"
    assert not first.skipped
    assert run_page(page, values, out, content="scores 1", about={}).skipped
    assert not run_page(page, values, out, content="scores 2", about={}).skipped
    assert run_page(page, values | {"number": 4}, out, content="scores 2", about={}).document["number"] == 4
    assert ".partial-" not in (out / "small.ipynb").read_text(encoding="utf-8")


def test_a_failing_notebook_leaves_the_page_of_before(page: Page, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_page(page, {"number": 3}, out, content="", about={})
    before = (out / "small.json").read_bytes()
    with pytest.raises(CalibrationError, match="unknown parameter 'nummer'"):
        run_page(page, {"nummer": 3}, out, content="", about={})
    broken = nbformat.read(page.source, as_version=4)
    broken.cells[-1].source += "\nraise ValueError('after the file')"
    nbformat.write(broken, page.source)
    with pytest.raises(CalibrationError, match="after the file"):
        run_page(page, {"number": 5}, out, content="", about={})
    assert (out / "small.json").read_bytes() == before
    assert (out / "small.failed.ipynb").exists()
    assert not list(out.glob(".partial-*"))
