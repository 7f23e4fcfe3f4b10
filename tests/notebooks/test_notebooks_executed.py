"""The notebooks as people run them: from the first cell to the last with their defaults, in their own folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from small_world import document, environment

from calibration.resources import bundled


def test_calibrate_runs_top_to_bottom_with_its_defaults(run_cache: Path, tmp_path: Path) -> None:
    """As JupyterLab does it: the kernel that the notebook names, started in the notebook's folder."""
    shutil.copytree(bundled("notebooks"), tmp_path / "notebooks")
    script = (
        "import nbformat, nbclient\n"
        "notebook = nbformat.read('calibrate.ipynb', as_version=4)\n"
        "nbclient.NotebookClient(notebook, kernel_name='python3', resources={'metadata': {'path': '.'}}).execute()\n"
        "nbformat.write(notebook, 'calibrate.ipynb')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path / "notebooks",
        env=environment(run_cache),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "reports" / "runs" / "sample" / "minilm"
    assert sorted(path.name for path in folder.iterdir()) == ["queries.jsonl", "recommendation.json", "scores.parquet"]
    found = document(folder)
    assert found["queries"] == {"answerable": 112, "missing_answer": 28, "off_topic": 25, "unknown": 0, "probes": 200}
    assert 0.15 < found["floor"] < 0.5
    notebook = nbformat.read(tmp_path / "notebooks" / "calibrate.ipynb", as_version=4)
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.get("outputs")]
    assert len(shown) >= 10
    assert all("text/html" in cell.outputs[0].get("data", {}) for cell in shown)
