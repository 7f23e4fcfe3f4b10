"""The hybrid study on the seed's own example: an adaptive divisor that collapses at one half."""

import numpy as np
import pandas as pd

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.params import validated
from calibration.retrieval import FUSIONS, Candidates, adaptive_divisor, max_possible
from calibration.studies.hybrid.candidates import places
from calibration.studies.hybrid.gate import Asked, gate_curve
from calibration.studies.hybrid.measure import measure
from calibration.studies.hybrid.params import HybridParams

NONE = float("nan")


def seed_example() -> tuple[Candidates, Labels, pd.DataFrame]:
    """The seed's search: 40 answerable queries for which three signals are active, so what is divided by is 2.5.

    The relevant memory of each has a semantic score around 0.8 and weak keywords, and nobody else comes near it.
    """
    rng = np.random.default_rng(4)
    n = 40
    queries = np.repeat([f"q{i:02}" for i in range(n)], 5)
    docs = np.tile(list("abcde"), n)
    relevant = docs == "a"
    semantic = np.where(relevant, rng.uniform(0.6, 0.9, 5 * n), rng.uniform(0.0, 0.3, 5 * n))
    bm25 = np.where(relevant, rng.uniform(0.0, 0.25, 5 * n), NONE)
    entity = np.where(docs == "b", 0.05, NONE)
    divisors = max_possible({"semantic": 1.0, "bm25": 1.0, "entity": 0.5})
    fused = adaptive_divisor({"semantic": semantic, "bm25": bm25, "entity": entity}, queries, divisors)
    frame = pd.DataFrame({"query_id": queries, "doc_id": docs, "similarity": semantic})
    candidates = Candidates(sorted(set(queries)), frame, {"similarity": ScoreContract()})
    candidates = candidates.with_signal("adaptive_divisor", fused, FUSIONS["adaptive_divisor"])
    ids = candidates.query_ids
    asked = {"query_id": ids, "text": "x", "kind": "-", "answerability": "answerable", "group": ids, "must": "-"}
    qrels = pd.DataFrame({"query_id": ids, "doc_id": "a", "relevance": 1})
    labels = Labels(pd.DataFrame(asked).astype("str"), qrels, None, 1, "unknown")
    table = labels.queries[["query_id", "kind", "answerability", "group"]].assign(probe=False, n_relevant=1)
    return candidates, labels, table


def test_the_seeds_adaptive_divisor_collapses_at_half_and_not_at_the_gate() -> None:
    candidates, labels, table = seed_example()
    params = validated(HybridParams, {"signals": "x.csv", "signal_metrics": "similarity=cosine_similarity"})
    near, fused = measure(candidates, labels, table, params)
    # strong in semantics alone, 0.6 to 0.9; fused, the same memories lie between 0.2 and 0.5
    assert near.relevant["min"] is not None
    assert near.relevant["min"] >= 0.6
    assert fused.relevant["max"] is not None
    assert 0.2 < float(fused.relevant["min"] or 0) < fused.relevant["max"] < 0.5
    assert fused.kept is not None
    assert (fused.kept.numerator, fused.kept.denominator) == (0, 40)
    assert near.kept is not None
    assert (near.kept.numerator, near.kept.denominator) == (40, 40)
    assert fused.pass_through is not None
    assert 0.05 <= fused.pass_through <= 0.25
    assert fused.kept_at_gate is not None
    assert fused.kept_at_gate.value == 1.0
    relevant = candidates.rows["doc_id"].eq("a").to_numpy()
    asked = Asked(candidates, relevant, places(candidates, "adaptive_divisor"), table, 5)
    curve = gate_curve(asked, "adaptive_divisor", relevant, (0.5, fused.pass_through)).set_index("threshold")
    assert curve.loc[0.5, "found"] == 0
    assert curve.loc[fused.pass_through, "found"] == 40
