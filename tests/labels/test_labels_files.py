"""File formats: encodings, delimiters, quotes, lines; and that the format never changes the labels."""

import codecs
import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibration.errors import LabelError
from calibration.labels import Labels, read_labels

QUERIES_CSV = "query_id,text\nq1,first\n"
QRELS_CSV = "query_id,doc_id,relevance\nq1,d1,1\n"


def read(folder: Path, *, queries: bytes = QUERIES_CSV.encode(), qrels: bytes = QRELS_CSV.encode()) -> Labels:
    (folder / "queries.csv").write_bytes(queries)
    (folder / "qrels.csv").write_bytes(qrels)
    return read_labels(folder)


def refusal(folder: Path, **files: bytes) -> str:
    with pytest.raises(LabelError) as caught:
        read(folder, **files)
    return str(caught.value)


@pytest.mark.parametrize("header", [b"query_id,doc_id,relevance", b'"query_id","doc_id","relevance"'])
def test_c61_byte_order_mark(tmp_path: Path, header: bytes) -> None:
    labels = read(tmp_path, qrels=codecs.BOM_UTF8 + header + b"\nq1,d1,1\n")
    assert labels.qrels.to_dict("records") == [{"query_id": "q1", "doc_id": "d1", "relevance": 1}]


def test_c61_utf16_of_a_spreadsheet(tmp_path: Path) -> None:
    labels = read(tmp_path, queries="query_id\ttext\r\nq1\tZażółć gęślą jaźń\r\n".encode("utf-16"))
    assert labels.queries["text"].tolist() == ["Zażółć gęślą jaźń"]


def test_c62_semicolons_are_detected_and_said(tmp_path: Path) -> None:
    labels = read(tmp_path, qrels=b"query_id;doc_id;relevance\r\nq1;d1;1,0\r\n")
    assert labels.qrels["relevance"].tolist() == [1]
    assert labels.warnings == ("qrels.csv: read with semicolons between fields",)


@pytest.mark.parametrize("text", ["Größe der Straße", "Zażółć gęślą jaźń, proszę"])
def test_cp1250_german_and_polish(tmp_path: Path, text: str) -> None:
    labels = read(tmp_path, queries=f'query_id,text\nq1,"{text}"\n'.encode("cp1250"))
    assert labels.queries["text"].tolist() == [text]
    (warning,) = labels.warnings
    assert "read as cp1250" in warning
    assert "iconv -f cp1252 -t utf-8 queries.csv" in warning
    assert text.split()[0] in warning


def test_cp1250_in_jsonl(tmp_path: Path) -> None:
    read(tmp_path)
    (tmp_path / "queries.csv").unlink()
    (tmp_path / "queries.jsonl").write_bytes('{"_id": "q1", "text": "Kündigung"}'.encode("cp1250"))
    assert read_labels(tmp_path).queries["text"].tolist() == ["Kündigung"]


def test_damaged_utf8_is_not_read_as_a_code_page(tmp_path: Path) -> None:
    queries = "query_id,text\nq1,Größe über Maß\n".encode() + b"q2,abge\xff\n"
    assert "queries.csv: mixes UTF-8 with other bytes on line 3" in refusal(tmp_path, queries=queries)


def test_bytes_of_no_encoding(tmp_path: Path) -> None:
    assert "line 2 is neither UTF-8 nor cp1250 (byte 0x81)" in refusal(tmp_path, queries=b"query_id,text\nq1,a\x81b\n")


def test_ids_like_numbers_stay_text(tmp_path: Path) -> None:
    ids = ["007", "7", "1e5", "1.0", "1", "0x10", "NaN", "null", "True", "1_000"]
    queries = "query_id,text\n" + "".join(f"{name},text\n" for name in ids)
    qrels = "query_id,doc_id,relevance\n" + "".join(f"{name},{name},1\n" for name in ids)
    labels = read(tmp_path, queries=queries.encode(), qrels=qrels.encode())
    assert labels.queries["query_id"].tolist() == ids
    assert labels.qrels["doc_id"].tolist() == ids


def test_whole_numbers_as_json_ids_become_text(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": 7, "text": "t"}', encoding="utf-8")
    (tmp_path / "qrels.csv").write_text("query_id,doc_id,relevance\n7,d1,1\n", encoding="utf-8")
    assert read_labels(tmp_path).queries["query_id"].tolist() == ["7"]


def test_blanks_around_ids_are_an_error(tmp_path: Path) -> None:
    assert "line 2: doc_id 'd1 ' begins or ends with a blank" in refusal(
        tmp_path, qrels=b"query_id,doc_id,relevance\nq1,d1 ,1\n"
    )


def test_only_a_newline_ends_a_line_of_jsonl(tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix"
    (tmp_path / "queries.jsonl").write_bytes(
        json.dumps({"_id": "q1", "text": text}, ensure_ascii=False).encode() + b"\r\n\n"
    )
    (tmp_path / "qrels.csv").write_bytes(QRELS_CSV.encode())
    assert read_labels(tmp_path).queries["text"].tolist() == [text]


def test_lines_are_counted_through_quoted_newlines_and_empty_lines(tmp_path: Path) -> None:
    queries = b'query_id,text\n\nq1,"two\nlines"\nq2,\n,,\n'
    message = refusal(tmp_path, queries=queries)
    assert "queries.csv line 5: text is empty or blank" in message
    assert "queries.csv line 2: text is empty or blank" in refusal(tmp_path, queries=b'query_id,text\nq1," \n \n"\n')
    queries = b'query_id,text\n\nq1,"two\nlines"\n,\nq2,a,b\n'
    assert "queries.csv line 6: 3 cells, expected 2 as in the header" in refusal(tmp_path, queries=queries)


def test_texts_longer_than_the_csv_modules_limit(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    labels = read(tmp_path, queries=f"query_id,text\nq1,{'x' * 200_000}\n".encode())
    assert labels.queries["text"].str.len().tolist() == [200_000]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (b'query_id,text\nq1,"a "quoted" word"\n', "queries.csv line 2: "),
        (b'query_id,text\nq1,"never closed\n', "queries.csv line 2: unexpected end of data"),
        (b"query_id,text,text\nq1,a,b\n", "the header names text twice"),
        (b"query_id,question\nq1,a\n", "no column text; columns found: query_id and question"),
        (b"", "queries.csv: 0 queries"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, queries: bytes, message: str) -> None:
    assert message in refusal(tmp_path, queries=queries)


def test_jsonl_that_cannot_be_read_is_listed_by_line(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1"\n[1]\n{"_id": "q2", "text": "\\ud800"}\n', encoding="utf-8")
    (tmp_path / "qrels.csv").write_bytes(QRELS_CSV.encode())
    with pytest.raises(LabelError) as caught:
        read_labels(tmp_path)
    assert "queries.jsonl line 1: not JSON" in str(caught.value)
    assert "queries.jsonl line 2: [1], expected one object a line" in str(caught.value)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "\\ud800"}\n', encoding="utf-8")
    with pytest.raises(LabelError, match="line 1: text holds half of a surrogate pair"):
        read_labels(tmp_path)


def test_unknown_suffix(tmp_path: Path) -> None:
    (tmp_path / "queries.xlsx").write_bytes(b"PK")
    with pytest.raises(LabelError, match=r"queries\.xlsx: unknown kind of file '\.xlsx'; expected one of \.jsonl"):
        read_labels(tmp_path, queries=tmp_path / "queries.xlsx")


_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
_awkward = st.sampled_from(["\u2028", "\x85", '"', ",", ";", "\t", "\n", "\r", "'", "ż", "ß", "0", "日"])
_texts = st.text(st.one_of(_characters, _awkward), min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
_ids = _texts.filter(lambda text: text == text.strip())


@st.composite
def _labelled(draw: st.DrawFn) -> tuple[list[dict[str, str]], list[dict[str, str]], list[dict[str, object]]]:
    queries = draw(
        st.lists(
            st.fixed_dictionaries(
                {"query_id": _ids, "text": _texts, "kind": _ids, "must": st.sampled_from(["hit", "refuse", "-"])},
                optional={"group": _ids},
            ),
            min_size=1,
            max_size=5,
            unique_by=lambda row: row["query_id"],
        )
    )
    for row in queries:
        row["kind"] = f"k-{row['kind'].strip()}-k".replace("|", "/")  # never a word of the default table
        row.setdefault("group", row["query_id"])
    corpus = draw(
        st.lists(
            st.fixed_dictionaries({"doc_id": _ids, "title": _texts, "text": _texts, "document_id": _ids}),
            min_size=1,
            max_size=5,
            unique_by=lambda row: row["doc_id"],
        )
    )
    pairs = st.tuples(st.sampled_from(queries), st.sampled_from(corpus), st.integers(0, 3))
    drawn = draw(st.lists(pairs, max_size=8, unique_by=lambda pair: (pair[0]["query_id"], pair[1]["doc_id"])))
    qrels: list[dict[str, object]] = [
        {"query_id": query["query_id"], "doc_id": doc["doc_id"], "relevance": grade} for query, doc, grade in drawn
    ]
    if not any(row["relevance"] == 3 for row in qrels):
        qrels = [{"query_id": queries[0]["query_id"], "doc_id": corpus[0]["doc_id"], "relevance": 3}]
    return queries, corpus, qrels


def _write(path: Path, rows: list[dict[str, object]], names: dict[str, str], delimiter: str = ",") -> None:
    renamed = [{names.get(key, key): value for key, value in row.items()} for row in rows]
    if path.suffix == ".jsonl":
        path.write_bytes(b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in renamed))
        return
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(renamed[0]), delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(renamed)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_labelled())
def test_the_format_of_the_files_never_changes_the_labels(
    tmp_path_factory: pytest.TempPathFactory,
    labelled: tuple[list[dict[str, object]], list[dict[str, object]], list[dict[str, object]]],
) -> None:
    queries, corpus, qrels = labelled
    beir_names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    read = []
    for suffixes, names, delimiter in (
        ((".jsonl", ".jsonl", ".tsv"), beir_names, "\t"),
        ((".csv", ".csv", ".csv"), {}, ","),
        ((".csv", ".tsv", ".csv"), {"document_id": "parent_id", "relevance": "label"}, ";"),
        ((".jsonl", ".jsonl", ".jsonl"), {"doc_id": "docid"}, ","),
    ):
        folder = tmp_path_factory.mktemp("labels")
        for stem, rows, suffix in zip(("queries", "corpus", "qrels"), (queries, corpus, qrels), suffixes, strict=True):
            _write(
                folder / f"{stem}{suffix}",
                rows,
                {**names, **({"doc_id": "_id"} if stem == "corpus" else {})},
                delimiter,
            )
        read.append(read_labels(folder, rel_level=3))
    for labels in read:
        assert labels.queries.drop(columns="answerability").to_dict("records") == [
            {name: row[name] for name in ("query_id", "text", "kind", "group", "must")} for row in queries
        ]
        assert labels.qrels.to_dict("records") == qrels
        assert labels.corpus is not None
        assert labels.corpus.to_dict("records") == corpus
        pd.testing.assert_frame_equal(labels.queries, read[0].queries)
        assert labels.content_hash() == read[0].content_hash()
