"""Run logs of other systems: a table of signals, and TREC runs with qrels."""

from pathlib import Path

import numpy as np
import pytest

from calibration.errors import ContractError, LabelError, ParameterError
from calibration.retrieval import Floor, gate, read_signals, read_trec

NONE = float("nan")
TABLE = """query_id,doc_id,similarity,lexical,fused,relevance,exempt,answerability
q1,a,0.41,2.5,0.0328,1,,answerable
q1,b,,1.5,0.0164,0,,answerable
q1,c,0.0,,0.0161,,yes,answerable
q1,d,0.12,,0.0159,,no,answerable
q2,a,0.2,0,0.0328,,,off_topic
q3,,,,,,,off_topic
"""
METRICS = {"similarity": "cosine_similarity", "lexical": "score", "fused": "rrf"}


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_c45_a_table_of_signals_keeps_absence_and_zero_apart(tmp_path: Path) -> None:
    log = read_signals(written(tmp_path, TABLE), METRICS)
    rows = log.candidates.rows
    assert rows["doc_id"].tolist() == ["a", "b", "c", "d", "a"]
    assert np.array_equal(rows["similarity"], [0.41, NONE, 0.0, 0.12, 0.2], equal_nan=True)
    assert np.array_equal(rows["lexical"], [2.5, 1.5, NONE, NONE, 0.0], equal_nan=True)
    assert np.array_equal(rows["similarity_rank"], [1, NONE, 3, 2, 1], equal_nan=True)
    assert log.candidates.query_ids == ["q1", "q2", "q3"], "a query that returned nothing is still there"
    assert log.labels.queries["answerability"].tolist() == ["answerable", "off_topic", "off_topic"]
    assert log.labels.qrels["relevance"].tolist() == [1, 0]
    assert log.labels.warnings == ()
    contract = log.candidates.contracts["similarity"]
    decided = gate(log.candidates, [Floor("similarity", 0.3, contract)], exempt=log.exempt)
    assert decided.verdict.tolist() == ["accepted", "unscored", "exempt", "rejected", "rejected"]


def test_c43_the_fused_column_of_a_log_carries_no_floor_either(tmp_path: Path) -> None:
    log = read_signals(written(tmp_path, TABLE), METRICS)
    with pytest.raises(ContractError, match="no floor on 'rrf'"):
        gate(log.candidates, [Floor("fused", 0.02, log.candidates.contracts["fused"])])


def test_distances_become_similarities(tmp_path: Path) -> None:
    log = read_signals(
        written(tmp_path, "query_id,doc_id,far,relevance\nq,a,0.2,1\nq,b,0.9,0\nq,c,0.8,0\n"),
        {"far": "cosine_distance"},
    )
    assert log.candidates.values("far")[:, 0].round(6).tolist() == [0.8, 0.1, 0.2]
    assert log.candidates.ranks("far")[:, 0].tolist() == [1, 3, 2]


def test_what_a_table_of_signals_lacks_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE)
    with pytest.raises(LabelError, match=r"no column bm25; columns found: query_id"):
        read_signals(path, {"bm25": "score"})
    with pytest.raises(ContractError, match="unknown metric 'cosin_similarity'; did you mean 'cosine_similarity'"):
        read_signals(path, {"similarity": "cosin_similarity"})
    with pytest.raises(ParameterError, match="no signal is named"):
        read_signals(path, {})
    with pytest.raises(LabelError, match=r"log.csv line 2: exempt is 'perhaps'"):
        read_signals(
            written(tmp_path, "query_id,doc_id,similarity,relevance,exempt\nq,a,0.5,1,perhaps\n"),
            {"similarity": "cosine_similarity"},
        )


def test_parquet_is_read_alike(tmp_path: Path) -> None:
    import io

    import pandas as pd

    path = tmp_path / "log.parquet"
    pd.read_csv(io.StringIO(TABLE)).to_parquet(path)
    log, same = read_signals(path, METRICS), read_signals(written(tmp_path, TABLE), METRICS)
    assert log.candidates.rows.equals(same.candidates.rows)
    assert log.exempt.tolist() == same.exempt.tolist()


NEAR = "q1 Q0 a 1 0.9 dense\nq1 Q0 b 2 0.2 dense\nq2 Q0 a 1 0.3 dense\n"
WORDS = "q1\tQ0\tb\t9\t12.5\tbm25\nq1\tQ0\tc\t1\t3.5\tbm25\n\n"
QRELS = "q1 0 b 1\nq1 0 a 0\nq1 0 z 1\nq3 0 a 1\n"
KINDS = {"similarity": "cosine_similarity", "lexical": "score"}


def trec(folder: Path, near: str = NEAR, words: str = WORDS, qrels: str = QRELS, **more: Path):  # type: ignore[no-untyped-def]
    runs = {"similarity": written(folder, near, "near.run"), "lexical": written(folder, words, "words.run")}
    return read_trec(runs, written(folder, qrels, "qrels.txt"), KINDS, **more)


def test_trec_runs_are_joined_and_ranked_by_score(tmp_path: Path) -> None:
    log = trec(tmp_path)
    rows = log.candidates.rows.set_index(["query_id", "doc_id"])
    assert sorted(rows.index) == [("q1", "a"), ("q1", "b"), ("q1", "c"), ("q2", "a")], "z is judged, returned by nobody"
    assert rows.loc[("q1", "b")].tolist() == [0.2, 2.0, 12.5, 1.0]
    assert np.isnan(rows.loc[("q1", "c"), "similarity"])
    assert sorted(log.candidates.query_ids) == ["q1", "q2", "q3"]
    assert len(log.labels.relevant_pairs()) == 3
    kinds = log.labels.queries.set_index("query_id")["answerability"]
    assert kinds["q1"] == "answerable"
    assert kinds["q2"] == "unknown"


def test_a_queries_file_says_which_are_off_topic(tmp_path: Path) -> None:
    queries = written(tmp_path, "query_id,text,answerability\nq1,x,\nq2,y,off_topic\nq3,z,\n", "queries.csv")
    log = trec(tmp_path, queries=queries)
    assert log.labels.queries["answerability"].tolist() == ["answerable", "off_topic", "answerable"]


def test_every_bad_line_of_trec_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabelError) as refused:
        trec(
            tmp_path,
            near="q1 Q0 a 1 0.9\nq1 Q0 b 2 high dense\nq1 Q0 b 3 0.1 dense\n",
            words="",
            qrels="q1 0 a -2\n",
        )
    for words in (
        "near.run line 1: 5 fields, expected 6: query, Q0, passage, rank, score, tag",
        "near.run line 2: score is 'high'",
        "near.run line 3: q1/b stands in line 2 already",
        "words.run: 0 lines",
        "qrels.txt line 1: grade is '-2': grades start at 0",
    ):
        assert words in str(refused.value)
    with pytest.raises(LabelError, match=r"absent.run: No such file"):
        read_trec({"similarity": tmp_path / "absent.run"}, tmp_path / "qrels.txt", {"similarity": "score"})
    with pytest.raises(ParameterError, match="runs are similarity, metrics are given for lexical"):
        read_trec({"similarity": tmp_path / "near.run"}, tmp_path / "qrels.txt", {"lexical": "score"})


@pytest.mark.parametrize("name", ["relevance", "Query_ID", "either", "exempt", "similarity_rank", " "])
def test_a_signal_cannot_take_the_name_of_another_column(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="a signal cannot be called"):
        read_signals(tmp_path / "log.csv", {name: "score"})


def test_of_several_columns_of_scores_the_wrong_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query_id,doc_id,similarity,lexical,relevance\nq,a,0.5,much,1\n", encoding="utf-8")
    with pytest.raises(LabelError, match=r"signal 'lexical': .*\n.*line 2.*'much'"):
        read_signals(path, {"similarity": "cosine_similarity", "lexical": "score"})
