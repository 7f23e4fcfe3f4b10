"""Reading the three files, alone and together; small tables to check by hand."""

from pathlib import Path

import pandas as pd
import pytest
from label_files import CORPUS, QRELS, QUERIES, beir, csv_refusal, refusal

from calibration.errors import LabelError, ParameterError
from calibration.labels import Labels, check_documents, read_labels


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
