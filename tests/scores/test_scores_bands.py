"""What must survive, what a floor exists to refuse, and what it can hardly help with."""

import numpy as np
import pytest
from handmade import Row, labels_of, probes_of, scores_of

from calibration.scores import Bands, find_bands, query_table

PROBES = [f"p{i}" for i in range(3)]


def bands(n_off: int, *, probes: bool, judged_noise: bool = True, unjudged: str = "unknown") -> Bands:
    """One answerable query, one with a missing answer, some off-topic ones."""
    kinds = {"q": "answerable", "m": "missing_answer"} | {f"o{i:02d}": "off_topic" for i in range(n_off)}
    qrels = [("q", "a", 1)] + ([("q", "b", 0), ("m", "b", 0)] if judged_noise else [])
    rows: list[Row] = [("q", "a", 0.7), ("q", "b", 0.5), ("q", "c", 0.45), ("m", "b", 0.6)]
    rows += [(f"o{i:02d}", "a", 0.1 + i / 1000) for i in range(n_off)] + [(p, "a", 0.2) for p in PROBES]
    labels = labels_of(kinds, qrels, unjudged=unjudged)
    scores = scores_of(labels, rows, probes=PROBES)
    return find_bands(scores, labels, query_table(scores, labels, probes_of(PROBES) if probes else None))


@pytest.mark.parametrize(
    ("n_off", "probes", "source", "n"),
    [
        (20, True, "labelled off-topic queries", 20),
        (19, True, "probe queries", 3),
        (19, False, "labelled off-topic queries", 19),
        (0, True, "probe queries", 3),
        (0, False, "judged passages", 1),
    ],
)
def test_where_far_noise_comes_from(n_off: int, probes: bool, source: str, n: int) -> None:
    found = bands(n_off, probes=probes)
    assert (found.far_noise_source, len(found["far_noise"])) == (source, n)
    assert found.far_noise_measured == (source != "judged passages")
    assert source in found["far_noise"].label
    assert {name for name, band in found.bands.items() if name != band.name} == set()


def test_c67_without_any_noise_the_band_is_empty_and_says_none() -> None:
    found = bands(0, probes=False, judged_noise=False)
    assert (found.far_noise_source, len(found["far_noise"])) == ("none", 0)
    assert found["far_noise"].summary() | {"n": 0} == found["far_noise"].summary()


def test_questions_with_a_missing_answer_are_reported_and_choose_nothing() -> None:
    for unjudged in ("unknown", "nonrelevant"):
        found = bands(0, probes=False, unjudged=unjudged)
        assert found["missing_answer"].similarity.tolist() == [0.6]
        assert sorted(found["near_noise"].query_ids) == ["m", "q"]  # of on-topic queries, both kinds
        assert found["far_noise"].query_ids.tolist() == ["q"]  # standing in for far noise, answerable ones only
        assert found["far_noise"].similarity.tolist() == [0.5]


def test_c57_unjudged_passages_are_near_noise_only_where_asked() -> None:
    found = bands(0, probes=False)
    assert (found["unjudged_top"].doc_ids.tolist(), found["unjudged_top"].similarity.tolist()) == (["c"], [0.45])
    found = bands(0, probes=False, judged_noise=False, unjudged="nonrelevant")
    assert len(found["unjudged_top"]) == 0
    assert found["far_noise"].doc_ids.tolist() == ["b"]


def test_a_query_without_a_scored_passage_stays_in_its_band() -> None:
    labels = labels_of({"q": "answerable", "r": "answerable"}, [("q", "a", 1), ("r", "a", 1)])
    scores = scores_of(labels, [("q", "a", 0.47)])
    band = find_bands(scores, labels, query_table(scores, labels))["best_relevant"]
    assert band.similarity.tolist() == [0.47, -np.inf]
    assert band.doc_ids.tolist() == ["a", None]
    summary = band.summary()
    assert (summary["n"], summary["not_scored"], summary["min"], summary["p50"], summary["max"]) == (
        2,
        1,
        0.47,
        0.47,
        0.47,
    )


def test_c74_bands_of_one_value_or_none_have_a_summary() -> None:
    labels = labels_of(
        {f"q{i}": "answerable" for i in range(3)} | {"o": "off_topic"}, [(f"q{i}", "a", 1) for i in range(3)]
    )
    scores = scores_of(labels, [*((f"q{i}", "a", 0.47) for i in range(3)), ("o", "a", 0.2)])
    found = find_bands(scores, labels, query_table(scores, labels))
    assert [found["best_relevant"].summary()[name] for name in ("n", "p05", "p95")] == [3, 0.47, 0.47]
    assert [found["far_noise"].summary()[name] for name in ("n", "p05", "p95")] == [1, 0.2, 0.2]
    empty = labels_of({"o": "off_topic"})
    scores = scores_of(empty, [("o", "a", 0.2)])
    assert find_bands(scores, empty, query_table(scores, empty))["best_relevant"].summary()["p50"] is None
