"""Score files: what an empty cell means, and that every doubtful row is said."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibration.errors import ContractError, LabelError
from calibration.labels import Labels
from calibration.sources.scorefile import read_scores


def read(folder: Path, text: str, name: str = "scores.csv", **options: object) -> tuple[pd.DataFrame, Labels]:
    (folder / name).write_bytes(text.encode())
    return read_scores(folder / name, **options)


def refusal(folder: Path, text: str, **options: object) -> str:
    with pytest.raises(LabelError) as caught:
        read(folder, text, **options)
    return str(caught.value)


def test_columns_and_dtypes(tmp_path: Path) -> None:
    frame, labels = read(
        tmp_path,
        "query_id,doc_id,score,relevance,document_id,kind,text\n"
        "q1,g#1,0.5,1,g,question,what is it\nq1,x,-0.25,,,question,what is it\nq2,x,0,0,,oos,hello\n",
    )
    assert frame.columns.tolist() == ["query_id", "doc_id", "score", "document_id"]
    assert frame["score"].tolist() == [0.5, -0.25, 0.0]
    assert frame["score"].dtype == np.float64
    assert frame["document_id"].isna().tolist() == [False, True, True]
    assert labels.queries.to_dict("records") == [
        {
            "query_id": "q1",
            "text": "what is it",
            "kind": "question",
            "answerability": "answerable",
            "group": "q1",
            "must": "-",
        },
        {"query_id": "q2", "text": "hello", "kind": "oos", "answerability": "off_topic", "group": "q2", "must": "-"},
    ]
    assert labels.qrels.to_dict("list") == {"query_id": ["q1", "q2"], "doc_id": ["g#1", "x"], "relevance": [1, 0]}
    assert (labels.corpus, labels.warnings, frame.attrs) == (None, (), {"invalid_scores": 0})


def test_c45_not_scored_is_missing_and_zero_is_a_value(tmp_path: Path) -> None:
    frame, _ = read(tmp_path, "query_id,doc_id,score,relevance\nq1,a,,1\nq1,b,0.0,\nq1,c,null,\nq1,d,0.1,\n")
    assert frame["score"].isna().tolist() == [True, False, True, False]
    assert frame["score"][1] == 0.0
    assert frame.attrs["invalid_scores"] == 0


def test_c50_a_query_that_returned_nothing_stays(tmp_path: Path) -> None:
    frame, labels = read(
        tmp_path, "query_id,doc_id,score,relevance,answerability\nq1,d1,0.9,1,\nq2,,,,answerable\nq3,,,,\n"
    )
    assert frame["query_id"].tolist() == ["q1"]
    assert labels.queries["query_id"].tolist() == ["q1", "q2", "q3"]
    assert labels.queries["answerability"].tolist() == ["answerable", "answerable", "unknown"]
    assert labels.queries["text"].isna().all()


def test_c50_queries_of_the_queries_file_that_are_not_scored_stay(tmp_path: Path) -> None:
    queries = tmp_path / "queries.csv"
    queries.write_text("query_id,text,kind\nq2,second,oos\nq1,first,\n", encoding="utf-8")
    frame, labels = read(tmp_path, "query_id,doc_id,score,label,kind\nq1,d1,0.9,1,faq\n", queries=queries)
    assert labels.queries[["query_id", "text", "kind"]].to_numpy().tolist() == [
        ["q2", "second", "oos"],
        ["q1", "first", "faq"],
    ]
    assert frame["query_id"].tolist() == ["q1"]
    message = refusal(
        tmp_path, "query_id,doc_id,score,label,kind\nq1,d1,0.9,1,\nq2,d1,0.9,,faq\nq7,d1,0.1,,\n", queries=queries
    )
    assert "query 'q2' has kind 'oos' in queries.csv line 2 and 'faq' in scores.csv line 3" in message
    assert "scores.csv line 4: unknown query 'q7'" in message


def test_c62_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    frame, labels = read(tmp_path, "query_id;doc_id;relevance;score\nq1;d1;1;0,82\nq1;d2;0;-0,5\nq1;d3;;1\n")
    assert frame["score"].tolist() == [0.82, -0.5, 1.0]
    assert labels.warnings == (
        "scores.csv: read with semicolons between fields",
        "scores.csv: scores read with decimal commas, 0,82 for one",
    )


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("1.234,5", "expected a number"),
        ("78%", "expected a number"),
        ("1_0", "expected a number"),
        ("inf", "expected a finite number"),
        ("-1e999", "expected a finite number"),
    ],
)
def test_c62_scores_that_are_no_numbers(tmp_path: Path, cell: str, message: str) -> None:
    found = refusal(tmp_path, f'query_id,doc_id,score,relevance\nq1,d1,0.5,1\nq1,d2,"{cell}",1\n')
    assert f"scores.csv line 3: score is {cell!r}, {message}" in found


def test_c62_decimal_commas_and_points_are_not_mixed(tmp_path: Path) -> None:
    found = refusal(tmp_path, "query_id;doc_id;score;relevance\nq1;d1;0,5;1\nq1;d2;0.5;1\n")
    assert "scores.csv lines 2 and 3: scores '0,5' and '0.5' mix decimal commas and points" in found


@pytest.mark.parametrize("order", [["0.2", "NaN", "0.9"], ["NaN", "0.2", "0.9"]])
def test_c77_nan_is_invalid_and_counted(tmp_path: Path, order: list[str]) -> None:
    rows = "".join(f"q1,d{i},{score},1\n" for i, score in enumerate(order))
    frame, labels = read(tmp_path, f"query_id,doc_id,score,relevance\n{rows}")
    assert frame["score"].max() == 0.9
    assert frame["score"].isna().sum() == frame.attrs["invalid_scores"] == 1
    assert labels.warnings == (f"scores.csv line {order.index('NaN') + 2}: 1 score is NaN; invalid, not scored",)


def test_c67_no_relevant_judgement(tmp_path: Path) -> None:
    assert "no relevant judgements" in refusal(tmp_path, "query_id,doc_id,score,relevance\nq1,a,0.1,0\nq1,b,0.4,0\n")
    assert "no relevant judgements" in refusal(tmp_path, "query_id,doc_id,score\nq1,a,0.1\n")
    assert len(read(tmp_path, "query_id,doc_id,score,relevance\nq1,a,0.1,1\nq1,b,0.4,1\n")[1].qrels) == 2


def test_c55_c69_grades_and_words(tmp_path: Path) -> None:
    _, labels = read(tmp_path, "query_id,doc_id,score,relevance\nq1,a,0.1,yes\nq1,b,0.4,no\nq1,c,0.4,NaN\n")
    assert labels.qrels["relevance"].tolist() == [1, 0]
    graded = "query_id,doc_id,score,relevance\nq1,a,0.6,3\nq1,b,0.5,2\nq1,c,0.45,1\nq1,d,0.2,0\n"
    assert "rel_level is not set" in refusal(tmp_path, graded)
    assert len(read(tmp_path, graded, rel_level=2)[1].relevant_pairs()) == 2


def test_all_bad_rows_at_once(tmp_path: Path) -> None:
    found = refusal(
        tmp_path,
        "query_id,doc_id,score,relevance,document_id,kind,must\n"
        "q1,a,0.5,1,g,x,\n"
        "q1,a,0.5,1,g,x,\n"
        "q1,b,high,1,,y,\n"
        ",c,0.1,,,,\n"
        "q2, d,0.1,2.5,,,win\n"
        "q3,,0.7,,,,\n"
        "q4,,,,,,\n"
        "q4,a,0.1,,h,,\n",
    )
    for expected in (
        "scores.csv lines 2 and 3: q1/a is scored more than once",
        "scores.csv line 4: score is 'high', expected a number",
        "query 'q1' has kind 'x' in scores.csv line 2 and 'y' in scores.csv line 4",
        "scores.csv line 5: query_id is missing",
        "scores.csv line 6: doc_id ' d' begins or ends with a blank",
        "scores.csv line 6: relevance is '2.5', expected a whole number",
        "scores.csv line 6: must is 'win'",
        "scores.csv line 7: a score or a relevance without doc_id",
        "scores.csv line 8: query 'q4' returned nothing here and candidates elsewhere",
        "scores.csv lines 2 and 9: passage 'a' belongs to g and h",
    ):
        assert expected in found
    assert found.startswith("10 problems")


def test_unknown_metric_and_empty_file(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="unknown metric 'cosine'"):
        read(tmp_path, "query_id,doc_id,score,relevance\nq1,a,0.1,1\n", metric="cosine")
    assert "scores.csv: 0 scores" in refusal(tmp_path, "query_id,doc_id,score\n")
    assert "no row has a score" in refusal(tmp_path, "query_id,doc_id,score,relevance\nq1,a,,1\n")
    assert "no column score; columns found: query_id, doc_id and similarity" in refusal(
        tmp_path, "query_id,doc_id,similarity\nq1,a,0.5\n"
    )


def test_parquet_tells_null_from_nan_and_loads_no_vectors(tmp_path: Path) -> None:
    table = pa.table(
        {
            "query_id": pa.array(["q1", "q1", "q1", "q2"]).dictionary_encode(),
            "doc_id": pa.array([1, 2, 3, None]),
            "score": pa.array([0.25, None, float("nan"), None], pa.float32()),
            "relevance": pa.array([1, None, 0, None], pa.int8()),
            "embedding": pa.array([[0.5, 0.5]] * 4),
        }
    )
    pq.write_table(table, tmp_path / "scores.parquet")
    frame, labels = read_scores(tmp_path / "scores.parquet")
    assert frame["doc_id"].tolist() == ["1", "2", "3"]
    assert frame["score"].isna().tolist() == [False, True, True]
    assert frame.attrs["invalid_scores"] == 1
    assert labels.queries["query_id"].tolist() == ["q1", "q2"]
    assert labels.warnings[:2] == (
        "scores.parquet: columns not used: embedding",
        "scores.parquet row 3: 1 score is NaN; invalid, not scored",
    )
    (tmp_path / "scores.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(LabelError, match=r"scores\.parquet: not a readable parquet file"):
        read_scores(tmp_path / "scores.parquet")


_pairs = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "q 3"]),
        st.sampled_from(["007", "d;1", "d,2", 'd"3', "null"]),
        st.none() | st.floats(-1, 1),
        st.none() | st.integers(0, 1),
    ),
    min_size=1,
    unique_by=lambda row: row[:2],
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_pairs)
def test_every_format_gives_the_same_scores(
    tmp_path: Path, pairs: list[tuple[str, str, float | None, int | None]]
) -> None:
    rows = [("q0", "d0", 0.5, 1), *pairs]
    names = ["query_id", "doc_id", "score", "relevance"]
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), tmp_path / "s.parquet")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (tmp_path / "s.jsonl").write_text("\n".join(lines), encoding="utf-8")
    read = [read_scores(tmp_path / "s.parquet"), read_scores(tmp_path / "s.jsonl")]
    for name, delimiter, comma in (("s.csv", ",", "."), ("s.tsv", "\t", ","), ("s.csv", ";", ",")):
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=delimiter)
        writer.writerow(names)
        for query, doc, score, grade in rows:
            writer.writerow([query, doc, "" if score is None else repr(score).replace(".", comma), grade])
        (tmp_path / name).write_text(text.getvalue(), encoding="utf-8", newline="")
        read.append(read_scores(tmp_path / name))
    for frame, labels in read:
        assert frame["score"].astype(object).where(frame["score"].notna(), None).tolist() == [row[2] for row in rows]
        pd.testing.assert_frame_equal(frame, read[0][0])
        pd.testing.assert_frame_equal(labels.qrels, read[0][1].qrels)
        assert labels.content_hash() == read[0][1].content_hash()
