"""The hybrid study on searches: words in a table of the user, and for documents that are cut into passages."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calibration.errors import StoreError
from calibration.params import validated
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.hybrid.study import hybrid


def test_a_users_table_is_searched_by_its_own_text(
    database: object, small_params: Callable[..., object], labels_folder: Path
) -> None:
    """The dsn of a reader who may only select; the text lies beside the vectors."""
    with database.owner() as owner:  # type: ignore[attr-defined]
        owner.execute("CREATE TABLE texts AS SELECT *, NULL::text AS body FROM docs")
        for line in filter(None, (labels_folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n")):
            passage = json.loads(line)
            owner.execute("UPDATE texts SET body = %s WHERE id = %s", (passage["text"], passage["_id"]))
        owner.execute("GRANT SELECT ON texts TO reader")
    small_params()  # sets the cache and the password
    values = {
        "labels": str(labels_folder), "rel_level": 1, "languages": ["pl"], "model": "wordllama",
        "dsn": database.dsn, "table": "texts", "where": "tenant = 'A'",  # type: ignore[attr-defined]
    }  # fmt: skip
    found = hybrid(validated(HybridParams, {**values, "text_column": "body", "text_search": "english"}))
    assert found.facts["text_search"]["configuration"] == "english"
    assert not found.candidates.rows["doc_id"].str.startswith("other").any(), "the filter holds for words too"
    with pytest.raises(StoreError, match="no text search configuration 'englich'"):
        hybrid(validated(HybridParams, {**values, "text_column": "body", "text_search": "englich"}))
    with database.owner() as owner:  # type: ignore[attr-defined]
        owner.execute("DROP TABLE texts")


def test_words_speak_for_documents_where_judgements_name_them(
    small_params: Callable[..., object], tmp_path: Path
) -> None:
    folder = tmp_path / "labels"
    folder.mkdir()
    corpus = [
        ("p1", "Refunds are paid within fourteen days of the request.", "book-a"),
        ("p2", "Gift cards cannot be refunded at all.", "book-a"),
        ("p3", "The printer in the hall needs form F-104.", "book-b"),
        ("p4", "Holidays are announced in spring.", "book-c"),
    ]
    lines = [json.dumps({"_id": name, "text": text, "document_id": book}) for name, text, book in corpus]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = {"q1": "when are refunds paid", "q2": "F-104", "q3": "holidays in spring", "x1": "lasagne recipe"}
    kinds = {"x1": "off_topic"}
    queries = [json.dumps({"_id": q, "text": t, "answerability": kinds.get(q, "answerable")}) for q, t in asked.items()]
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n", encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq1\tbook-a\t1\nq2\tbook-b\t1\nq3\tbook-c\t1\n"
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    small_params()  # sets the cache
    values = {"labels": str(folder), "model": "minilm", "probes": False, "rerank": "late-interaction"}
    found = hybrid(validated(HybridParams, {**values, "rerank_depth": 2}))
    rows = found.candidates.rows
    assert set(rows["doc_id"]) == {"book-a", "book-b", "book-c"}
    words = rows[rows["lexical"].notna()]
    assert sorted(zip(words["query_id"], words["doc_id"], strict=True)) == [
        ("q1", "book-a"), ("q2", "book-b"), ("q3", "book-c"),
    ]  # fmt: skip
    assert rows.groupby("query_id")["rerank"].count().tolist() == [2, 2, 2, 2]
    late = found.get("rerank")
    assert late is not None
    assert late.metric == "maxsim"
    assert not late.refused
