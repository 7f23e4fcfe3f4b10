"""The sample's corpus cut in half and grown back: the warning comes before the false answers leave their interval."""

import json
from pathlib import Path

import pandas as pd
import pytest

from calibration import parameters
from calibration.resources import bundled
from calibration.result import save
from calibration.studies.calibrate import calibrate
from calibration.studies.check.baseline import read_baseline
from calibration.studies.check.study import check_baseline

pytestmark = pytest.mark.server
STEP = 4


def lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture
def half(tmp_path: Path, run_cache: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A folder with every second passage and the questions that these answer, and the passages left out."""
    monkeypatch.setenv("CALIBRATION_CACHE", str(run_cache))
    monkeypatch.delenv("CALIBRATION_RUN", raising=False)
    sample = bundled("data") / "sample"
    corpus = lines(sample / "corpus.jsonl")
    kept = [json.loads(line)["_id"] for line in corpus[::2]]
    qrels = pd.read_csv(sample / "qrels.tsv", sep="\t", dtype=str)
    outside = set(qrels.loc[(qrels["score"] != "0") & ~qrels["corpus-id"].isin(kept), "query-id"])
    queries = [line for line in lines(sample / "queries.jsonl") if json.loads(line)["_id"] not in outside]
    asked = {json.loads(line)["_id"] for line in queries}
    (tmp_path / "queries.jsonl").write_text("\n".join(queries) + "\n", encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text("\n".join(corpus[::2]) + "\n", encoding="utf-8")
    inside = qrels[qrels["corpus-id"].isin(kept) & qrels["query-id"].isin(asked)]
    inside.to_csv(tmp_path / "qrels.tsv", sep="\t", index=False)
    return tmp_path, corpus[1::2]


def test_the_ceiling_warns_first(half: tuple[Path, list[str]]) -> None:
    folder, more = half
    params = parameters({"labels": str(folder), "rel_level": 1, "model": "wordllama"})
    save(calibrate(params), folder / "baseline")
    baseline = read_baseline(folder / "baseline")
    gates = ("false_answer_rate_off_topic", "false_answer_rate_probes")
    claimed = {name: baseline.document["rates"]["in_sample"][name] for name in gates}
    warned, left = [], []
    for _ in range(len(more) // STEP):
        with (folder / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
            corpus.write("\n".join(more[:STEP]) + "\n")
        del more[:STEP]
        found = check_baseline(baseline, params)
        now = {rate.measure.name: rate.now.value for rate in found.rates}
        assert found.ceiling is not None
        warned.append(found.ceiling.warned)
        left.append(any(not claimed[name]["low"] <= now[name] <= claimed[name]["high"] for name in gates))
        assert not found.stale
    assert found.n_documents == 80
    assert True in warned
    assert warned.index(True) < (left.index(True) if True in left else len(left)), (warned, left)
