"""Who says whether a query has an answer: its row, its kind, its judgements, in this order."""

import json
from pathlib import Path

import pytest

from calibration.errors import LabelError
from calibration.labels import BY_KIND, Labels, read_labels


def read(folder: Path, queries: list[dict[str, str]], judged: list[tuple[str, int]], **options: object) -> Labels:
    (folder / "queries.jsonl").write_text(
        "\n".join(json.dumps({"text": "t", **row}) for row in queries), encoding="utf-8"
    )
    rows = "".join(f"{query},d1,{grade}\n" for query, grade in judged)
    (folder / "qrels.csv").write_text(f"query_id,doc_id,relevance\n{rows}", encoding="utf-8")
    return read_labels(folder, **options)


def said(labels: Labels) -> dict[str, str]:
    return dict(zip(labels.queries["query_id"], labels.queries["answerability"], strict=True))


def test_c58_unanswerable_queries_are_told_from_unknown_ones(tmp_path: Path) -> None:
    labels = read(
        tmp_path,
        [
            {"_id": "on"},
            {"_id": "off", "kind": "unanswerable"},
            {"_id": "nobody"},
            {"_id": "noise"},
            {"_id": "gone", "kind": "Billing|No_Link"},
            {"_id": "row", "kind": "oos", "answerability": "missing_answer"},
        ],
        [("on", 1), ("noise", 0)],
    )
    assert said(labels) == {
        "on": "answerable",
        "off": "off_topic",
        "nobody": "unknown",
        "noise": "unknown",
        "gone": "missing_answer",
        "row": "missing_answer",
    }
    assert labels.counts_by_answerability() == {"answerable": 1, "off_topic": 1, "missing_answer": 2, "unknown": 2}
    assert labels.warnings == ("1 query without judgements: nobody; whether there is an answer is unknown",)


@pytest.mark.parametrize(("kind", "meaning"), BY_KIND.items())
def test_c58_words_of_the_default_table(tmp_path: Path, kind: str, meaning: str) -> None:
    labels = read(tmp_path, [{"_id": "q1"}, {"_id": "q2", "kind": f"topic {kind.upper()}"}], [("q1", 1)])
    assert said(labels)["q2"] == meaning


def test_the_users_table_adds_overrides_and_knows_kinds_with_blanks(tmp_path: Path) -> None:
    queries = [{"_id": "a", "kind": "Small Talk"}, {"_id": "b", "kind": "unanswerable"}, {"_id": "c"}]
    table = {"small talk": "off_topic", "unanswerable": "missing_answer"}
    labels = read(tmp_path, queries, [("c", 1)], answerability_by_kind=table)
    assert said(labels) == {"a": "off_topic", "b": "missing_answer", "c": "answerable"}


@pytest.mark.parametrize("row", [{"answerability": "off_topic"}, {"kind": "oos"}, {"answerability": "missing_answer"}])
def test_no_answer_and_a_relevant_judgement_contradict(tmp_path: Path, row: dict[str, str]) -> None:
    with pytest.raises(LabelError, match=r"queries\.jsonl line 2: query 'q2' is said .* and has a relevant judgement"):
        read(tmp_path, [{"_id": "q1"}, {"_id": "q2", **row}], [("q1", 1), ("q2", 1)])
    assert len(read(tmp_path, [{"_id": "q1"}, {"_id": "q2", **row}], [("q1", 1), ("q2", 0)]).queries) == 2


def test_a_kind_that_contradicts_itself(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="says oos = off_topic and no_answer = missing_answer"):
        read(tmp_path, [{"_id": "q1"}, {"_id": "q2", "kind": "oos no_answer"}], [("q1", 1)])


def test_said_unknown_with_a_relevant_judgement_is_answerable(tmp_path: Path) -> None:
    assert said(read(tmp_path, [{"_id": "q1", "answerability": "unknown"}], [("q1", 1)])) == {"q1": "answerable"}


def test_said_answerable_without_a_relevant_judgement_stays_with_a_warning(tmp_path: Path) -> None:
    labels = read(tmp_path, [{"_id": "q1"}, {"_id": "q2", "answerability": "answerable"}], [("q1", 1)])
    assert said(labels)["q2"] == "answerable"
    assert labels.warnings == ("1 query said to be answerable without a relevant judgement: q2; a miss at every floor",)
