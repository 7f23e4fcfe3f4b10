"""The query table and the states of accepted passages."""

import pandas as pd
import pytest
from handmade import labels_of, probes_of, scores_of

from calibration.scores import judged_top, query_table

KINDS = {"ans": "answerable", "off": "off_topic", "mis": "missing_answer", "unk": "unknown"}
QRELS = [("ans", "a", 1), ("ans", "b", 0), ("mis", "b", 0)]
ROWS = [(query, doc, score) for query in (*KINDS, "p1") for doc, score in (("a", 0.4), ("b", 0.5), ("c", 0.3))]


def states(unjudged: str) -> dict[str, list[str]]:
    labels = labels_of(KINDS, QRELS, unjudged=unjudged)
    top = judged_top(scores_of(labels, ROWS, probes=["p1"]), labels)
    return {query: rows["state"].tolist() for query, rows in top.groupby("query_id")}


def test_c57_unjudged_is_a_state_of_its_own() -> None:
    assert states("unknown") == {
        "ans": ["noise", "relevant", "unjudged"],
        "off": ["unjudged"] * 3,
        "mis": ["noise", "unjudged", "unjudged"],
        "unk": ["unjudged"] * 3,
        "p1": ["unjudged"] * 3,
    }


def test_unjudged_counts_as_noise_where_asked_but_not_for_a_query_nobody_has_looked_at() -> None:
    assert states("nonrelevant") == {
        "ans": ["noise", "relevant", "noise"],
        "off": ["noise"] * 3,
        "mis": ["noise"] * 3,
        "unk": ["unjudged"] * 3,
        "p1": ["unjudged"] * 3,
    }


def test_the_query_table_by_hand() -> None:
    labels = labels_of(KINDS, [*QRELS, ("ans", "gone", 1)])
    table = query_table(scores_of(labels, ROWS, probes=["p1"]), labels, probes_of(["p1"])).set_index("query_id")
    assert table.index.tolist() == ["ans", "off", "mis", "unk", "p1"]
    assert table["probe"].tolist() == [False, False, False, False, True]
    ans = table.loc["ans"]
    assert (ans["best_relevant"], ans["best_relevant_rank"], ans["best_relevant_doc"]) == (0.4, 2, "a")
    assert (ans["top_similarity"], ans["top_doc"], ans["n_relevant"]) == (0.5, "b", 2)
    assert (ans["best_judged_noise"], ans["best_judged_noise_doc"]) == (0.5, "b")
    assert (ans["best_unjudged"], ans["best_unjudged_doc"]) == (0.3, "c")
    assert pd.isna(table.loc["off", "best_relevant"])
    assert table["n_relevant"].tolist() == [2, 0, 0, 0, 0]
    assert table.loc["p1", "group"] == "p1"


def test_c58_off_topic_queries_have_no_gold_and_no_rank() -> None:
    labels = labels_of({"q": "answerable", "o": "off_topic"}, [("q", "a", 1)])
    table = query_table(scores_of(labels, [("o", "a", 0.3)]), labels).set_index("query_id")
    assert table.loc["o", "top_similarity"] == 0.3
    assert pd.isna(table.loc["q", "top_similarity"])
    assert pd.isna(table.loc["q", "best_relevant_rank"])
    assert pd.isna(table.loc["q", "top_doc"])


def test_c55_the_relevance_level_decides_what_is_relevant() -> None:
    qrels, rows = [("q", "a", 3), ("q", "b", 1)], [("q", "b", 0.6), ("q", "a", 0.5)]
    for level, best, noise in ((1, 0.6, None), (2, 0.5, 0.6)):
        labels = labels_of(["q"], qrels, rel_level=level)
        row = query_table(scores_of(labels, rows), labels).iloc[0]
        assert row["best_relevant"] == best
        assert (None if pd.isna(row["best_judged_noise"]) else row["best_judged_noise"]) == noise


def test_among_near_ties_the_relevant_passage_that_a_cap_keeps_is_the_best() -> None:
    labels = labels_of(["q"], [("q", "a", 1), ("q", "z", 1)])
    row = query_table(scores_of(labels, [("q", "z", 0.5 + 4e-7), ("q", "a", 0.5)]), labels).iloc[0]
    assert (row["best_relevant_doc"], row["best_relevant_rank"]) == ("a", 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    from dataclasses import replace

    labels = labels_of(KINDS, QRELS, unjudged="nonrelevant")
    scores = scores_of(labels, ROWS, probes=["p1"])
    shuffled = replace(
        scores,
        top=scores.top.sample(frac=1, random_state=seed, ignore_index=True),
        judged=scores.judged.sample(frac=1, random_state=seed, ignore_index=True),
    )
    one, other = (query_table(each, labels, probes_of(["p1"])) for each in (scores, shuffled))
    pd.testing.assert_frame_equal(one, other)
