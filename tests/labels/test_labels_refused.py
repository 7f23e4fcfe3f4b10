"""Rows that are refused, all of them at once, by file and line."""

from pathlib import Path

import pytest
from label_files import QUERIES, beir, csv_refusal, jsonl, refusal

from calibration.errors import LabelError
from calibration.labels import read_labels


def test_c53_repeated_judgement_collapses_and_contradiction_names_both_lines(tmp_path: Path) -> None:
    queries = jsonl(tmp_path / "queries.jsonl", [QUERIES[0]])
    qrels = tmp_path / "qrels.csv"
    qrels.write_text("query_id,doc_id,relevance\nq1,d1,1\nq1,d1,1\n", encoding="utf-8")
    labels = read_labels(queries=queries, qrels=qrels)
    assert labels.warnings == ("qrels.csv line 3: the same judgement again; collapsed",)
    assert len(labels.qrels) == 1
    qrels.write_text("query_id,doc_id,relevance\nq1,d1,1\nq1,d1,1\nq1,d2,1\nq1,d2,0\n", encoding="utf-8")
    with pytest.raises(LabelError, match=r"qrels\.csv lines 4 and 5: q1/d2 has grades 1 and 0"):
        read_labels(queries=queries, qrels=qrels)


def test_c55_grades_need_a_relevance_level(tmp_path: Path) -> None:
    beir(tmp_path, qrels="query-id\tcorpus-id\tscore\nq1\td1\t3\nq1\td2\t1\nq2\td2\t2\n")
    assert "grades 1, 2 and 3 are found and rel_level is not set" in refusal(tmp_path)
    assert len(read_labels(tmp_path, rel_level=1).relevant_pairs()) == 3
    assert read_labels(tmp_path, rel_level=2).relevant_pairs().to_dict("list") == {
        "query_id": ["q1", "q2"],
        "doc_id": ["d1", "d2"],
    }
    assert read_labels(tmp_path, rel_level=3).counts_by_answerability()["unknown"] == 1


def test_c67_no_relevant_judgement(tmp_path: Path) -> None:
    beir(tmp_path, qrels="query-id\tcorpus-id\tscore\nq1\td1\t0\nq2\td2\t0\n")
    assert "no relevant judgements: 2 judgements, the highest grade is 0" in refusal(tmp_path)
    beir(tmp_path)
    assert "no relevant judgements" in refusal(tmp_path, rel_level=2)


@pytest.mark.parametrize(
    ("good", "bad"), [("yes", "no"), ("Relevant", "irrelevant"), ("True", "False"), ("1.0", "0"), ("1,0", "0,0")]
)
def test_c69_words_and_booleans_mean_what_1_and_0_mean(tmp_path: Path, good: str, bad: str) -> None:
    words = read_labels(beir(tmp_path, qrels=f"query-id\tcorpus-id\tscore\nq1\td1\t{good}\nq2\td2\t{bad}\nq2\td1\t1\n"))
    plain = read_labels(beir(tmp_path, qrels="query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\nq2\td1\t1\n"))
    assert words.content_hash() == plain.content_hash()


def test_c69_json_booleans_and_an_unknown_word(tmp_path: Path) -> None:
    beir(tmp_path)
    qrels = jsonl(
        tmp_path / "judged.jsonl",
        [{"query_id": "q1", "doc_id": "d1", "label": True}, {"query_id": "q2", "doc_id": "d1", "label": False}],
    )
    assert read_labels(tmp_path, qrels=qrels).qrels["relevance"].tolist() == [1, 0]
    assert "line 2: relevance is 'perhaps', expected a grade" in csv_refusal(
        tmp_path, "query_id,doc_id,relevance\nq1,d1,perhaps\n"
    )


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("-1", "grades start at 0"),
        ("0.5", "expected a whole number"),
        ("nan", "expected a whole number"),
        ("inf", "expected a whole number"),
        ("1e12", "too large"),
        ("", "is missing"),
        ("1_0", "expected a grade"),
    ],
)
def test_grades_that_are_refused(tmp_path: Path, cell: str, message: str) -> None:
    assert message in csv_refusal(tmp_path, f"query_id,doc_id,relevance\nq1,d1,{cell}\nq2,d1,1\n")


def test_all_bad_rows_of_all_files_at_once(tmp_path: Path) -> None:
    queries: list[dict[str, object]] = [
        {"_id": "q1", "text": "  "},
        {"_id": "q2", "text": 7},
        {"_id": "q3", "text": "fine", "answerability": "maybe", "must": "win"},
        {"_id": "q3", "text": "again"},
        {"_id": " q4", "text": "blank before"},
        {"_id": 1.0, "text": "number"},
        {"_id": "q5", "text": "null\x00byte"},
        {"_id": "q6"},
    ]
    corpus: list[dict[str, object]] = [{"_id": "d1", "text": ""}, {"_id": "d1", "text": "one"}, {"text": "no id"}]
    beir(
        tmp_path, queries=queries, corpus=corpus, qrels="query-id\tcorpus-id\tscore\nq9\td1\t-1\nq8\td1\t1\nq1\td7\t1\n"
    )
    message = refusal(tmp_path)
    for expected in (
        "queries.jsonl line 1: text is empty or blank",
        "queries.jsonl line 2: text is 7, expected text",
        "queries.jsonl line 3: answerability is 'maybe', expected one of answerable, off_topic",
        "queries.jsonl line 3: must is 'win', expected one of hit, refuse",
        "queries.jsonl lines 3 and 4: query id 'q3' more than once",
        "queries.jsonl line 5: query_id ' q4' begins or ends with a blank",
        "queries.jsonl line 6: query_id is 1.0, expected text",
        "queries.jsonl line 7: text holds a null byte",
        "queries.jsonl line 8: text is missing",
        "corpus.jsonl line 1: text is empty or blank",
        "corpus.jsonl lines 1 and 2: document id 'd1' more than once",
        "corpus.jsonl line 3: doc_id is missing",
        "qrels.tsv line 2: relevance is '-1': grades start at 0",
        "qrels.tsv line 3: unknown query 'q8'",
        "1 judged document missing from the corpus: q1/d7 (qrels.tsv line 4)",
    ):
        assert expected in message
    assert message.startswith("15 problems in the labels:\n")


def test_one_error_stays_one(tmp_path: Path) -> None:
    # A query that is wrong elsewhere is still a known query, and its judgements are no further problem.
    beir(tmp_path, queries=[{"_id": "q1", "text": ""}, {"_id": "q2", "text": "second"}])
    assert refusal(tmp_path).startswith("1 problem in the labels:\n")
    # And when every judgement is wrong, "no relevant judgements" would only repeat it.
    beir(tmp_path, qrels="query-id\tcorpus-id\tscore\nq1\td1\tperhaps\n")
    assert refusal(tmp_path).startswith("1 problem in the labels:\n")


def test_c78_empty_and_blank_queries_are_named_by_line(tmp_path: Path) -> None:
    queries: list[dict[str, object]] = [{"_id": f"q{i}", "text": t} for i, t in ((1, "alpha"), (2, ""), (3, "   "))]
    message = refusal(beir(tmp_path, queries=queries))
    assert "queries.jsonl line 2: text is empty" in message
    assert "queries.jsonl line 3: text is empty" in message


@pytest.mark.parametrize(
    ("name", "found"), [("queries", "0 queries"), ("corpus", "0 documents"), ("qrels", "0 judgements")]
)
def test_c97_empty_files(tmp_path: Path, name: str, found: str) -> None:
    beir(tmp_path)
    for file in tmp_path.glob(f"{name}.*"):
        file.unlink()
    (tmp_path / f"{name}.csv").write_text("query_id,doc_id,text,score\n", encoding="utf-8")
    assert f"{name}.csv: {found}" in refusal(tmp_path)
    (tmp_path / f"{name}.csv").unlink()
    (tmp_path / f"{name}.jsonl").write_text("\n", encoding="utf-8")
    assert f"{name}.jsonl: {found}" in refusal(tmp_path)
    (tmp_path / f"{name}.jsonl").write_text("{}\n", encoding="utf-8")
    assert "columns found: none" in refusal(tmp_path)
