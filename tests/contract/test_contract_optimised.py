"""Everything that matters holds under `python -O`, where assert statements are gone."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
import numpy as np
from calibration.contract import (
    ContractFile, Refusal, ScoreContract, convert, convert_scores, read_contract, write_contract,
)
from calibration.errors import ContractError, ParameterError
from calibration.testing import assert_same_accepted, assert_same_ranking

assert False, "assert statements are on"
METRICS = ["cosine_similarity", "cosine_distance", "l2", "squared_l2", "inner_product", "negative_inner_product"]
said = []

def refused(kind, act):
    try:
        act()
    except kind as error:
        said.append(str(error).splitlines()[0])
    else:
        said.append("NOTHING WAS REFUSED")

rng = np.random.default_rng(0)
vectors = rng.normal(size=(200, 6))
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
query, cosine = vectors[0], vectors @ vectors[0]
old = ScoreContract()
sets = []
for metric in METRICS:
    new = ScoreContract(metric)
    apart = np.linalg.norm(vectors - query, axis=1)
    raw = {"cosine_similarity": cosine, "cosine_distance": 1 - cosine, "l2": apart, "squared_l2": apart**2,
           "inner_product": cosine, "negative_inner_product": -cosine}[metric]
    cut = convert(0.3, old, new)
    sets.append(new.accept(new.similarity(raw), new.similarity_of(cut.value)).tolist())
    names = [str(row) for row in range(len(raw))]
    scores = {"q": dict(zip(names, cosine.tolist()))}, {"q": dict(zip(names, raw.tolist()))}
    assert_same_accepted(scores[0], old, 0.3, scores[1], new, cut.value, allow_boundary=True)
    assert_same_ranking(scores[0], old, scores[1], new)
same = all(found == sets[0] for found in sets) and 0 < sum(sets[0]) < 200

squared = ScoreContract("squared_l2")
refused(AssertionError, lambda: assert_same_accepted(
    {"q": {"A": .9, "B": .7}}, old, .8, {"q": {"A": .2, "B": .6}}, squared, .8))
refused(AssertionError, lambda: assert_same_ranking({"q": {"A": .9, "B": .7}}, old, {"q": {"A": .6, "B": .2}}, squared))
refused(Refusal, lambda: convert(.8, old, ScoreContract("l2", normalisation="none")))
refused(Refusal, lambda: convert(.8, old, ScoreContract("rrf")))
refused(ContractError, lambda: convert(78, old, squared))
refused(ContractError, lambda: convert(float("nan"), old, squared))
refused(ContractError, lambda: ScoreContract("euclidean_score"))
refused(ContractError, lambda: old.similarity([1.02]))
refused(ContractError, lambda: old.accept([0.5], float("nan")))
refused(ParameterError, lambda: assert_same_accepted({"q": {"A": .9}}, old, .8, {"q": {"A": .9}}, old, .8, top_k=0))
refused(AssertionError, lambda: assert_same_accepted({"q": {"A": None}}, old, .8, {"q": {"A": None}}, old, .8))
refused(ContractError, lambda: convert(1.0000001, old, ScoreContract("l2")))
path = write_contract(ContractFile(squared, 0.4), sys.argv[1])
floor = read_contract(path).floor
print(json.dumps({"same": same, "floor": floor, "said": said}))
"""

EXPECTED = [
    "the accepted sets differ for 1 of 1 queries (1 conversion):",
    "the rankings differ for 1 of 1 queries:",
    "'l2' says nothing about a cosine",
    "no floor on 'rrf'",
    "threshold 78 is outside",
    "threshold nan is not a finite number",
    "unknown metric 'euclidean_score'",
    "1 of 1 values lie outside [-1, 1]",
    "the floor is NaN",
    "top_k is 0, expected",
    "no document has a score on the old side",
    "1.0000001 has no equal as l2",
]


def test_rules_refusals_and_assertions_hold_without_assert_statements(tmp_path: Path) -> None:
    import json

    done = subprocess.run(
        [sys.executable, "-O", "-c", SCRIPT, str(tmp_path / "contract.json")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["same"], found["floor"]) == (True, 0.8)
    assert [line[: len(words)] for line, words in zip(found["said"], EXPECTED, strict=True)] == EXPECTED
