"""Everything holds under `python -O`: no check of the library is an assert."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.server
SCRIPT = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from deployed import BACKENDS, accepted, seeds_fixture, study
from calibration.errors import CalibrationError

corpus = seeds_fixture(pathlib.Path(sys.argv[2]), sys.argv[3])
old = corpus.contract("numpy cosine_similarity", 0.8, name="old")
found = {"optimised": not __debug__}
for backend in BACKENDS:
    one = study(corpus, old, corpus.contract(backend, name="new"))
    found[backend] = [one.verdict, sorted(doc for _, doc in accepted(one))]
copied = study(corpus, old, corpus.contract("faiss squared_l2", 0.8, name="new"))
found["copied"] = [copied.verdict, sorted(set(copied.flips["cause"]))]
try:
    study(corpus, old, corpus.contract("numpy l2", name="new", normalisation="none"))
except CalibrationError as error:
    found["refused"] = type(error).__name__
print(json.dumps(found))
"""


def test_the_seeds_fixture_through_every_backend_under_o(tmp_path: Path, dsn: str) -> None:
    from deployed import BACKENDS

    tests = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-O", "-c", SCRIPT, str(tests), str(tmp_path), dsn],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("optimised") is True
    assert found.pop("copied") == ["changed", ["conversion"]]
    assert found.pop("refused") == "Refusal"
    assert found == {backend: ["unchanged", ["A"]] for backend in BACKENDS}
