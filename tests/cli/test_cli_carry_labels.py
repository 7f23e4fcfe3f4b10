"""`calibrate carry-labels`: what it writes, what it says, and what it never overwrites."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calibration.labels import read_labels

Command = Callable[..., Any]
REFUND = "Refunds are paid within fourteen days of the request, and only to the card that was used."
HOURS = "The shop in Gdynia opens at nine on weekdays, at ten on Saturdays, and stays closed on holidays."
GONE = "A parcel that nobody collects goes back to the sender after ten days; the fee is not waived."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Labels of three passages in `labels`, and new passages that hold two of them."""
    labels = tmp_path / "labels"
    labels.mkdir()
    rows = {
        "corpus.jsonl": [{"_id": "p", "text": f"{REFUND} {HOURS}"}, {"_id": "x", "text": GONE}],
        "queries.jsonl": [{"_id": "q1", "text": "refund"}, {"_id": "q2", "text": "parcel", "must": "hit"}],
    }
    for name, records in rows.items():
        (labels / name).write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
    (labels / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp\t1\nq1\tgone\t1\nq2\tx\t1\n", encoding="utf-8")
    new = [{"doc_id": "a", "text": REFUND}, {"doc_id": "b", "text": HOURS}]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in new), encoding="utf-8")
    return tmp_path


def test_the_folder_it_writes_is_labels_for_the_new_corpus(command: Command, folder: Path) -> None:
    said = command("carry-labels", "new.jsonl", "--labels", "labels", "--out", "carried")
    assert said.code == 0
    assert said.out.startswith("1 of 3 judgements carried to 2 on new passages\n")
    assert "q1/gone (grade 1): not in the corpus that was judged" in said.out
    assert "missing from the corpus: q1/gone (qrels.tsv line 3); left out, since there is no text" in said.err
    assert "kept" not in said.err, "an orphan is not kept"
    assert "calibrate run --labels carried --corpus new.jsonl" in said.out
    assert "1 judged document missing from the corpus" in said.err
    labels = read_labels(folder / "carried", corpus=folder / "new.jsonl")
    assert labels.qrels.to_dict("list") == {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "relevance": [1, 1]}
    assert labels.queries["answerability"].tolist() == ["answerable", "unknown"]
    assert labels.queries["must"].tolist() == ["-", "-"]
    document = json.loads((folder / "carried/carried.json").read_text(encoding="utf-8"))
    assert document["fates"] == {"kept": 0, "moved": 0, "merged": 0, "split": 1, "diluted": 0, "orphaned": 2}
    assert [row["carried_to"] for row in document["rows"]] == [["a", "b"], [], []]
    assert document["queries_without_relevant"] == ["q2"]


def test_a_filled_in_review_settles_which_part_answers(command: Command, folder: Path) -> None:
    command("carry-labels", "new.jsonl", "--labels", "labels", "--out", "carried")
    review = pd.read_csv(folder / "carried/review.tsv", sep="\t", dtype="str")
    assert review[["query_id", "doc_id", "carried_to"]].to_numpy().tolist() == [["q1", "p", "a b"]]
    review.assign(answer="within fourteen days").to_csv(folder / "marked.tsv", sep="\t", index=False)
    arguments = ("carry-labels", "new.jsonl", "--labels", "labels", "--out", "carried", "--answers", "marked.tsv")
    assert "already there" in command(*arguments).err
    said = command(*arguments, "--force", "--json")
    assert json.loads(said.out)["rows"][0]["carried_to"] == ["a"]
    assert json.loads(said.out)["to_review"] == 0


@pytest.mark.parametrize("out", ["labels", "carried"])
def test_what_is_read_is_never_overwritten(command: Command, folder: Path, out: str) -> None:
    command("carry-labels", "new.jsonl", "--labels", "labels", "--out", "carried")
    before = (folder / out / "qrels.tsv").read_bytes()
    answers = ("--answers", "carried/review.tsv") if out == "carried" else ()
    said = command("carry-labels", "new.jsonl", "--labels", "labels", "--out", out, "--force", *answers)
    assert said.code == 1
    assert "name another folder for --out" in said.err
    assert (folder / out / "qrels.tsv").read_bytes() == before


def test_every_problem_of_the_new_corpus_is_said_and_nothing_is_written(command: Command, folder: Path) -> None:
    (folder / "new.jsonl").write_text('{"doc_id": "a", "text": " "}\n{"doc_id": "a"}\n', encoding="utf-8")
    said = command("carry-labels", "new.jsonl", "--labels", "labels", "--out", "carried")
    assert said.code == 1
    assert "new.jsonl line 1: text is empty or blank" in said.err
    assert "new.jsonl lines 1 and 2: document id 'a' more than once" in said.err
    assert not (folder / "carried").exists()


def test_what_some_queries_have_and_others_have_not(command: Command, folder: Path) -> None:
    rows = [{"_id": "q1", "text": "refund", "collection": "shop"}, {"_id": "q2", "text": "parcel", "kind": None}]
    path = folder / "labels/queries.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    said = command("carry-labels", "new.jsonl", "--labels", "labels", "--out", "a b")
    assert said.code == 0
    assert "calibrate run --labels 'a b' --corpus new.jsonl" in said.out
    written = [json.loads(line) for line in (folder / "a b/queries.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row.get("collection") for row in written] == ["shop", None]
    assert "collection" not in written[1]
