"""Reading the three files, alone and together; small tables to check by hand."""

import json
from pathlib import Path

import pandas as pd
import pytest

from calibration.errors import LabelError, ParameterError
from calibration.labels import Labels, check_documents, read_labels

CORPUS = [{"_id": "d1", "title": "", "text": "one"}, {"_id": "d2", "title": "", "text": "two"}]
QUERIES = [{"_id": "q1", "text": "first"}, {"_id": "q2", "text": "second"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n"


def jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def beir(
    folder: Path,
    *,
    queries: list[dict[str, object]] = QUERIES,
    qrels: str = QRELS,
    corpus: list[dict[str, object]] | None = CORPUS,
) -> Path:
    jsonl(folder / "queries.jsonl", queries)
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    if corpus is not None:
        jsonl(folder / "corpus.jsonl", corpus)
    return folder


def refusal(folder: Path, **options: object) -> str:
    with pytest.raises(LabelError) as caught:
        read_labels(folder, **options)
    return str(caught.value)


def csv_refusal(folder: Path, qrels: str) -> str:
    (folder / "qrels.csv").write_text(qrels, encoding="utf-8")
    queries = jsonl(folder / "queries.jsonl", QUERIES)
    with pytest.raises(LabelError) as caught:
        read_labels(queries=queries, qrels=folder / "qrels.csv")
    return str(caught.value)


def test_beir_folder(tmp_path: Path) -> None:
    labels = read_labels(beir(tmp_path))
    assert labels.queries.to_dict("records") == [
        {"query_id": q, "text": t, "kind": "-", "answerability": "answerable", "group": q, "must": "-"}
        for q, t in (("q1", "first"), ("q2", "second"))
    ]
    assert labels.qrels.to_dict("list") == {"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], "relevance": [1, 1]}
    assert labels.qrels["relevance"].dtype == "int64"
    assert labels.corpus is not None
    assert labels.corpus["document_id"].isna().all()
    assert list(labels.corpus.columns) == ["doc_id", "title", "text", "document_id"]
    assert (labels.rel_level, labels.unjudged, labels.warnings) == (1, "unknown", ())
    assert isinstance(labels.queries.index, pd.RangeIndex)


def test_test_split_is_preferred_and_queries_of_other_splits_are_left_out(tmp_path: Path) -> None:
    beir(tmp_path, queries=[*QUERIES, {"_id": "q3", "text": "nobody judged"}])
    (tmp_path / "qrels.tsv").unlink()
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td2\t1\n", encoding="utf-8")
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", encoding="utf-8")
    labels = read_labels(tmp_path)
    assert labels.queries["query_id"].tolist() == ["q1", "q3"]
    assert labels.warnings[:2] == (
        "qrels/test.tsv was read; train.tsv beside it was not",
        "queries.jsonl: 1 query of other splits left out",
    )


def test_a_single_file_takes_the_place_of_the_folders(tmp_path: Path) -> None:
    beir(tmp_path)
    other = tmp_path / "judged by anna.csv"
    other.write_text("query_id,doc_id,relevance\nq2,d1,1\n", encoding="utf-8")
    assert read_labels(tmp_path, qrels=other).qrels["doc_id"].tolist() == ["d1"]


def test_two_files_for_one_role_are_not_guessed_between(tmp_path: Path) -> None:
    beir(tmp_path)
    (tmp_path / "queries.csv").write_text("query_id,text\nq1,first\n", encoding="utf-8")
    assert "queries.jsonl and queries.csv lie side by side" in refusal(tmp_path)


def test_missing_files_are_all_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, require_corpus=True)
    assert [f"no {name} file" in message for name in ("queries", "qrels", "corpus")] == [True] * 3
    assert "no such folder" in refusal(tmp_path / "absent")


def test_c51_dangling_judgement_is_listed_beside_the_query_without_judgements(tmp_path: Path) -> None:
    qrels = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t1\nq2\td2\t1\n"
    beir(tmp_path, queries=[*QUERIES, {"_id": "q3", "text": "third"}], qrels=qrels)
    assert "1 judged document missing from the corpus: q1/d9 (qrels.tsv line 3)" in refusal(tmp_path)
    labels = read_labels(tmp_path, allow_dangling=True)
    assert len(labels.relevant_pairs()) == 3  # the judgement stays: q1 can reach a recall of 0.5 only
    assert "1 judged document missing from the corpus: q1/d9" in labels.warnings[0]
    assert "1 query without judgements: q3" in labels.warnings[1]
    assert labels.counts_by_answerability() == {"answerable": 2, "off_topic": 0, "missing_answer": 0, "unknown": 1}


def test_c51_check_documents_when_the_corpus_lies_elsewhere(tmp_path: Path) -> None:
    labels = read_labels(beir(tmp_path, corpus=None))
    assert labels.corpus is None
    assert check_documents(labels, {"d1", "d2", "d3"}) is labels
    with pytest.raises(LabelError, match="1 judged document missing from the corpus: q2/d2"):
        check_documents(labels, {"d1"})
    allowed = check_documents(labels, {"d1"}, allow_dangling=True)
    assert "q2/d2" in allowed.warnings[-1]
    assert len(allowed.qrels) == 2


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


def test_fields_that_are_not_used_are_named_once(tmp_path: Path) -> None:
    labels = read_labels(beir(tmp_path, queries=[{**row, "metadata": {}, "lang": "en"} for row in QUERIES]))
    assert labels.warnings == ("queries.jsonl: columns not used: metadata and lang",)


def test_a_generic_id_gives_way_and_two_grades_do_not(tmp_path: Path) -> None:
    assert read_labels(
        beir(
            tmp_path,
            queries=[{"id": 5, "query_id": "q1", "text": "a"}, {"id": 6, **QUERIES[1]}][:1],
            qrels="query-id\tcorpus-id\tscore\nq1\td1\t1\n",
        )
    ).queries["query_id"].tolist() == ["q1"]
    assert "score and label could each be the relevance" in csv_refusal(
        tmp_path, "query_id,doc_id,score,label\nq1,d1,0.7,1\n"
    )


def test_chunks_know_their_document_and_judgements_may_name_it(tmp_path: Path) -> None:
    corpus: list[dict[str, object]] = [
        {"_id": "g#1", "text": "one", "document_id": "g"},
        {"_id": "g#2", "text": "two", "document_id": "g"},
        {"_id": "x", "title": "only a title", "text": ""},
    ]
    labels = read_labels(beir(tmp_path, corpus=corpus, qrels="query-id\tcorpus-id\tscore\nq1\tg\t1\nq2\tg#2\t1\n"))
    assert labels.corpus is not None
    assert labels.corpus["document_id"].tolist()[:2] == ["g", "g"]
    assert labels.corpus["document_id"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    "options",
    [
        {"rel_level": 0},
        {"rel_level": True},
        {"rel_level": 1.5},
        {"unjudged": "noise"},
        {"answerability_by_kind": {"chat": "offtopic"}},
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        read_labels(beir(tmp_path), **options)


def test_content_hash_knows_content_and_not_order(tmp_path: Path) -> None:
    def hash_of(**files: object) -> str:
        return read_labels(beir(tmp_path, **files), rel_level=1).content_hash()

    rows = QRELS.splitlines(keepends=True)
    plain = hash_of()
    assert hash_of(queries=QUERIES[::-1], qrels="".join([rows[0], rows[2], rows[1]])) == plain
    others = [
        hash_of(queries=[{**QUERIES[0], "text": "First"}, QUERIES[1]]),
        hash_of(queries=[{**QUERIES[0], "must": "hit"}, QUERIES[1]]),
        hash_of(qrels=QRELS.replace("q2\td2\t1", "q2\td2\t2")),
        hash_of(qrels=QRELS.replace("q2\td2", "q2\td1")),
        read_labels(beir(tmp_path, qrels=QRELS.replace("\t1", "\t2")), rel_level=2).content_hash(),
    ]
    assert len({plain, *others}) == 6


def test_labels_are_frozen(tmp_path: Path) -> None:
    labels: Labels = read_labels(beir(tmp_path))
    with pytest.raises(AttributeError):
        labels.rel_level = 2  # type: ignore[misc]


def test_collections_are_read_where_they_are_named_and_change_nothing_where_not(tmp_path: Path) -> None:
    plain = read_labels(beir(tmp_path))
    assert "collection" not in plain.queries
    empty = read_labels(beir(tmp_path, queries=[{**query, "collection": None} for query in QUERIES]))
    assert empty.content_hash() == plain.content_hash()
    queries = [{**QUERIES[0], "collection": " law "}, QUERIES[1]]
    corpus = [{**CORPUS[0], "collection": "law"}, {**CORPUS[1], "collection": ""}]
    labels = read_labels(beir(tmp_path, queries=queries, corpus=corpus))
    assert labels.queries["collection"].dropna().to_dict() == {0: "law"}
    assert labels.corpus is not None
    assert labels.corpus["collection"].isna().tolist() == [False, True]
    assert not any("not used" in warning for warning in labels.warnings)
