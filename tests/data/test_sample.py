"""The bundled data keeps what its README promises; read with plain json, so no reader of the package is involved."""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
SAMPLE = DATA / "sample"
CODE = re.compile(r"\b(?:KB-\d{6}|F-\d{3}|POL-\d\d|E4\d{3})\b")

KINDS = ("question", "keywords", "identifier", "paraphrase")
LANGUAGES = {"en": 200, "pl": 100, "de": 100, "es": 100, "fr": 100, "ja": 100}

Row = dict[str, Any]


def objects(path: Path) -> list[Row]:
    # only a newline ends a line: U+2028 and its like are text within JSON
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


CORPUS = objects(SAMPLE / "corpus.jsonl")
QUERIES = objects(SAMPLE / "queries.jsonl")
PROBES = objects(DATA / "probes.jsonl")
QRELS = [tuple(line.split("\t")) for line in (SAMPLE / "qrels.tsv").read_text("utf-8").split("\n")[1:] if line]
README = (DATA / "README.md").read_text("utf-8")

GRADES: dict[str, dict[str, str]] = defaultdict(dict)
for query_id, corpus_id, score in QRELS:
    GRADES[query_id][corpus_id] = score
ID_OF = {row["_id"]: row for row in QUERIES}


def of(answerability: str) -> list[Row]:
    return [row for row in QUERIES if row["answerability"] == answerability]


def sentences(text: str) -> set[str]:
    """Sentences of eight words or more, without case, quotes and spaces that would hide a repetition."""
    parts = re.split(r"(?<=[.!?:])[\"”]?\s+|\n+", text)
    words = (re.findall(r"\w+", part.casefold()) for part in parts)
    return {" ".join(found) for found in words if len(found) >= 8}


@pytest.mark.parametrize(
    ("rows", "columns", "key"),
    [
        (CORPUS, ["_id", "title", "text"], "_id"),
        (QUERIES, ["_id", "text", "kind", "answerability", "group", "must"], "_id"),
        (PROBES, ["query_id", "text", "language", "subject", "kind"], "query_id"),
    ],
    ids=["corpus", "queries", "probes"],
)
def test_every_row_has_exactly_the_documented_columns_and_an_id_of_its_own(
    rows: list[Row], columns: list[str], key: str
) -> None:
    assert all(list(row) == columns for row in rows)
    assert all(isinstance(value, str) and value == value.strip() and value for row in rows for value in row.values())
    assert Counter(row[key] for row in rows).most_common(1)[0][1] == 1
    assert Counter(row["text"].casefold() for row in rows).most_common(1)[0][1] == 1


def test_corpus_has_enough_passages_of_150_to_400_words() -> None:
    assert len(CORPUS) >= 72
    assert {row["_id"]: n for row in CORPUS if not 150 <= (n := len(row["text"].split())) <= 400} == {}


def test_no_two_passages_share_a_sentence_of_eight_words() -> None:
    owners: dict[str, list[str]] = defaultdict(list)
    for row in CORPUS:
        for sentence in sentences(row["text"]):
            owners[sentence].append(row["_id"])
    assert len(owners) > 500
    assert {sentence: ids for sentence, ids in owners.items() if len(ids) > 1} == {}


def test_the_sentence_check_sees_a_repetition_through_case_and_line_breaks() -> None:
    one = "Short one. Refunds are paid within fourteen days of the request. More."
    two = "Another page\nREFUNDS are paid within fourteen days of the request!"
    assert sentences(one) & sentences(two) == {"refunds are paid within fourteen days of the request"}


def test_addresses_belong_to_a_reserved_domain() -> None:
    hosts = {host for row in CORPUS for host in re.findall(r"@([\w-]+(?:\.[\w-]+)+)", row["text"])}
    assert hosts == {"kestrelboard.example"}
    assert not any("http" in row["text"] or "www." in row["text"] for row in CORPUS)


def test_query_columns_hold_allowed_values() -> None:
    assert {row["kind"] for row in QUERIES} == set(KINDS)
    assert {row["answerability"] for row in QUERIES} == {"answerable", "missing_answer", "off_topic"}
    assert {row["must"] for row in QUERIES} == {"hit", "refuse", "-"}


def test_there_are_enough_queries_of_each_sort() -> None:
    kinds = Counter(row["kind"] for row in of("answerable"))
    assert all(kinds[kind] >= 25 for kind in KINDS)
    assert len(of("missing_answer")) >= 25
    assert len(of("off_topic")) == 25
    assert {row["kind"] for row in of("off_topic")} == {"question", "keywords"}


def test_must_is_put_on_queries_that_can_obey() -> None:
    musts = {(row["must"], row["answerability"]) for row in QUERIES if row["must"] != "-"}
    assert musts == {("hit", "answerable"), ("refuse", "off_topic")}


def test_groups_join_a_paraphrase_to_its_question_and_nothing_else() -> None:
    for row in QUERIES:
        if row["kind"] == "paraphrase":
            assert ID_OF[row["group"]]["kind"] == "question"
        else:
            assert row["group"] == row["_id"]
    reworded = [row["group"] for row in QUERIES if row["kind"] == "paraphrase"]
    assert len(set(reworded)) == len(reworded)


def test_qrels_have_the_beir_header_and_valid_rows() -> None:
    assert (SAMPLE / "qrels.tsv").read_text("utf-8").startswith("query-id\tcorpus-id\tscore\n")
    passages = {row["_id"] for row in CORPUS}
    assert all(len(row) == 3 for row in QRELS)
    assert [row for row in QRELS if row[0] not in ID_OF or row[1] not in passages or row[2] not in "012"] == []
    assert Counter(row[:2] for row in QRELS).most_common(1)[0][1] == 1


def test_answerable_queries_have_an_answer_and_near_misses() -> None:
    for row in of("answerable"):
        grades = Counter(GRADES[row["_id"]].values())
        assert 1 <= grades["2"] <= 2, row["_id"]
        assert grades["0"] >= 2, row["_id"]


def test_missing_answers_have_only_near_misses() -> None:
    for row in of("missing_answer"):
        assert len(GRADES[row["_id"]]) >= 2, row["_id"]
        assert set(GRADES[row["_id"]].values()) == {"0"}, row["_id"]


def test_off_topic_queries_have_no_judgement() -> None:
    assert not any(row["_id"] in GRADES for row in of("off_topic"))


def test_a_paraphrase_asks_for_what_its_question_asks_for() -> None:
    for row in QUERIES:
        if row["kind"] == "paraphrase":
            answers = [{doc for doc, grade in GRADES[i].items() if grade == "2"} for i in (row["_id"], row["group"])]
            assert answers[0] == answers[1], row["_id"]


def coded() -> Iterator[tuple[Row, set[str], set[str]]]:
    """Queries with codes, and the passages that name all of them."""
    mentioned = {row["_id"]: set(CODE.findall(f"{row['title']} {row['text']}")) for row in CORPUS}
    for row in QUERIES:
        if codes := set(CODE.findall(row["text"])):
            yield row, codes, {doc for doc, found in mentioned.items() if codes <= found}


def test_a_code_that_is_asked_for_stands_in_its_answer_or_nowhere() -> None:
    seen = Counter[str]()
    for row, codes, holders in coded():
        seen[row["answerability"]] += 1
        if row["answerability"] == "answerable":
            assert {doc for doc, grade in GRADES[row["_id"]].items() if grade == "2"} <= holders, (row["_id"], codes)
        elif codes != {"POL-09"}:  # named in one passage that refers to it and says no more
            assert holders == set(), (row["_id"], codes)
    assert seen["answerable"] >= 20
    assert seen["missing_answer"] >= 8


def test_every_passage_that_names_a_code_asked_for_is_judged() -> None:
    unjudged = [(row["_id"], doc) for row, _, holders in coded() for doc in holders if doc not in GRADES[row["_id"]]]
    assert unjudged == []


@pytest.mark.parametrize(("language", "count"), LANGUAGES.items())
def test_probes_are_half_questions_half_keywords(language: str, count: int) -> None:
    kinds = Counter(row["kind"] for row in PROBES if row["language"] == language)
    assert kinds == {"question": count // 2, "keywords": count // 2}


def test_probes_cover_every_subject_in_every_language_equally_often() -> None:
    cells = Counter((row["language"], row["subject"]) for row in PROBES)
    subjects = {row["subject"] for row in PROBES}
    assert len(subjects) == 25
    assert cells == {(name, subject): LANGUAGES[name] // 25 for name, subject in product(LANGUAGES, subjects)}


def test_probe_ids_number_each_language_from_one() -> None:
    ids = [row["query_id"] for row in PROBES]
    assert ids == [f"{name}-{number:03}" for name, count in LANGUAGES.items() for number in range(1, count + 1)]


def test_no_two_probes_differ_only_in_case_accents_and_punctuation() -> None:
    letters = ("".join(re.findall(r"\w", unicodedata.normalize("NFKD", row["text"].casefold()))) for row in PROBES)
    assert Counter(letters).most_common(1)[0][1] == 1


def test_probes_and_labelled_queries_are_different_texts() -> None:
    assert {row["text"].casefold() for row in PROBES}.isdisjoint(row["text"].casefold() for row in QUERIES)


def table_rows() -> dict[str, list[str]]:
    """Rows of the README's tables by their first cell; the first row of a name counts."""
    rows: dict[str, list[str]] = {}
    for line in README.splitlines():
        if line.startswith("| "):
            name, *cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
            rows.setdefault(name, cells)
    return rows


def test_readme_counts_are_those_of_the_files() -> None:
    rows = table_rows()
    rows_in = {
        "sample/corpus.jsonl": len(CORPUS),
        "sample/queries.jsonl": len(QUERIES),
        "sample/qrels.tsv": len(QRELS),
        "probes.jsonl": len(PROBES),
    }
    assert {name: rows[name][-1] for name in rows_in} == {name: str(count) for name, count in rows_in.items()}
    for answerability in ("answerable", "missing_answer", "off_topic"):
        kinds = Counter(row["kind"] for row in of(answerability))
        assert rows[answerability] == [*(str(kinds[kind]) for kind in KINDS), str(kinds.total())]
    grades = Counter(row[2] for row in QRELS)
    assert [rows[grade][0] for grade in "012"] == [str(grades[grade]) for grade in "012"]
    lengths = [len(row["text"].split()) for row in CORPUS]
    assert f"{min(lengths)} to {max(lengths)} words" in README
    musts = Counter(row["must"] for row in QUERIES)
    assert f"{musts['hit']} are marked `hit`" in README
    assert f"{musts['refuse']} `refuse`" in README


def test_readme_lists_every_subject() -> None:
    listed = re.search(r"^Subjects: (.*?)\.$", README, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert re.findall(r"`([\w-]+)`", listed[1]) == sorted({row["subject"] for row in PROBES})
