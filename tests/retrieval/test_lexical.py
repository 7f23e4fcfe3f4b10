"""The lexical leg on a real server: any word counts, codes are found, nothing is written."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from calibration.errors import LabelError, ParameterError, StoreError
from calibration.labels import read_labels
from calibration.resources import bundled
from calibration.retrieval import Leg, TextSearch, TextTable, configuration_for, search_table, search_texts

_numbers = count()
ENGLISH = TextSearch("english")
TEXTS = {
    "a": "Error ERR-1042 means the card was refused.",
    "b": "The cards of customers are printed in Gdynia.",
    "c": "Form F 104 is for refunds.",
    "d": "Nothing to see here.",
}


@pytest.fixture
def dsn(server_dsn: str) -> Iterator[str]:
    """A schema of this test's own."""
    schema = f"lexical_{next(_numbers)}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        yield make_conninfo(server_dsn, options=f"-csearch_path={schema},public")
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def execute(dsn: str) -> Callable[..., list[tuple]]:
    def run(statement: str, *values: object) -> list[tuple]:
        with psycopg.connect(dsn, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description is not None else []

    return run


@pytest.fixture
def docs(execute: Callable[..., list[tuple]]) -> str:
    execute("CREATE TABLE docs (id text PRIMARY KEY, body text, words tsvector, book text)")
    for name, text in TEXTS.items():
        execute("INSERT INTO docs VALUES (%s, %s, to_tsvector('english', %s))", name, text, text)
    return "docs"


def found(leg: Leg, query: str = "q1") -> list[str]:
    rows = leg.rows[leg.rows["query_id"] == query]
    assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
    assert rows["score"].is_monotonic_decreasing
    return rows["doc_id"].tolist()


def searched(dsn: str, *queries: str, how: TextSearch = ENGLISH, depth: int = 10) -> Leg:
    ids = [f"q{i + 1}" for i in range(len(queries))]
    return search_texts(dsn, list(TEXTS), list(TEXTS.values()), ids, queries, how, depth=depth)


def test_any_word_counts_and_more_of_them_count_more(server_dsn: str) -> None:
    leg = searched(server_dsn, "which refused card has an unknown word in it", "zebra")
    assert found(leg) == ["a", "b"]
    assert found(leg, "q2") == [], "no word in common is no candidate, and no score of 0.0"
    assert leg.contract.metric == "ts_rank"


@pytest.mark.parametrize("query", ["ERR-1042", "err-1042?", "error 1042", "'ERR-1042' & it | (that):*"])
def test_codes_are_found_however_they_are_written(server_dsn: str, query: str) -> None:
    assert found(searched(server_dsn, query))[0] == "a"
    assert found(searched(server_dsn, query, how=TextSearch("simple")))[0] == "a"


def test_a_hyphen_that_the_passage_has_not_does_not_hide_its_number(server_dsn: str) -> None:
    assert found(searched(server_dsn, "F-104")) == ["c"]


@pytest.mark.parametrize("query", ["it's", r"back\slash 'quoted' \\", "", "  ", "the of and", "🙂", "%s {x} $1"])
def test_strange_queries_are_only_words(server_dsn: str, query: str) -> None:
    assert found(searched(server_dsn, query)) == []


def test_the_depth_cuts_and_ties_go_by_id(server_dsn: str) -> None:
    ids, texts = ["z", "Z", "b"], ["word"] * 3
    leg = search_texts(server_dsn, ids, texts, ["q1"], ["word"], TextSearch(), depth=2)
    assert found(leg) == ["Z", "b"]


def test_the_best_passage_speaks_for_its_document(server_dsn: str) -> None:
    leg = search_texts(server_dsn, ["d", "d", "e"], ["card", "card card refused", "card"], ["q1"], ["refused card"])
    assert found(leg) == ["d", "e"]


def test_a_users_table_by_its_text_and_by_its_tsvector(dsn: str, docs: str) -> None:
    queries = (["q1", "q2"], ["refused cards", "F-104"])
    plain = search_table(TextTable(docs, "body"), *queries, ENGLISH, dsn=dsn)
    kept = search_table(TextTable(docs, "words"), *queries, ENGLISH, dsn=dsn)
    assert found(plain) == ["a", "b"]
    assert plain.rows.equals(kept.rows)


def test_the_filter_is_kept_and_documents_are_named(dsn: str, docs: str, execute: Callable[..., list[tuple]]) -> None:
    execute("UPDATE docs SET book = 'payments' WHERE id = 'a'")
    table = TextTable(docs, "body", document_column="book", where="body LIKE '%card%' -- all of them")
    assert found(search_table(table, ["q1"], ["refused cards form"], ENGLISH, dsn=dsn)) == ["payments", "b"]


def test_nothing_in_a_users_database_changes(dsn: str, docs: str, execute: Callable[..., list[tuple]]) -> None:
    state = "SELECT oid, relname, relfilenode FROM pg_class ORDER BY oid"
    before = execute(state), execute("SELECT * FROM docs ORDER BY id"), execute("SELECT xmin::text FROM docs")
    search_table(TextTable(docs, "body"), ["q1"], ["card"], ENGLISH, dsn=dsn)
    assert before == (
        execute(state),
        execute("SELECT * FROM docs ORDER BY id"),
        execute("SELECT xmin::text FROM docs"),
    )
    writing = TextTable(docs, "body", where="nextval('s') > 0")
    execute("CREATE SEQUENCE s")
    with pytest.raises(StoreError, match="read-only"):
        search_table(writing, ["q1"], ["card"], ENGLISH, dsn=dsn)


def test_what_is_missing_is_said_before_anything_runs(dsn: str, docs: str) -> None:
    with pytest.raises(StoreError, match=r"no text search configuration 'englich'; it has: .*english.*simple"):
        searched(dsn, "card", how=TextSearch("englich"))
    with pytest.raises(StoreError, match=r"column .*bodyy.* does not exist"):
        search_table(TextTable(docs, "bodyy"), ["q1"], ["card"], dsn=dsn)
    with pytest.raises(StoreError, match=r"relation .*dox.* does not exist"):
        search_table(TextTable("dox", "body"), ["q1"], ["card"], dsn=dsn)
    with pytest.raises(ParameterError, match="unknown rank 'bm25'"):
        TextSearch(rank="bm25")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="normalisation is 64"):
        TextSearch(normalisation=64)


def test_trigrams_are_used_where_the_server_has_them(dsn: str, execute: Callable[..., list[tuple]]) -> None:
    how = TextSearch(rank="word_similarity")
    with pytest.raises(StoreError, match=r"no word_similarity: pg_trgm is not installed"):
        searched(dsn, "crad", how=how)
    # the embedded server has no pg_trgm, so a function of that name stands in for it: how it is found and called
    execute(
        "CREATE FUNCTION word_similarity(asked text, body text) RETURNS real LANGUAGE sql IMMUTABLE"
        " AS 'SELECT length(body) / 100.0::real'"
    )
    leg = searched(dsn, "crad", how=how, depth=2)
    assert found(leg) == ["b", "a"]
    assert leg.contract.metric == "word_similarity"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["How do I cancel my contract?", "ERR-1042"], "english"),
        (["Wie kann ich meinen Vertrag kündigen?"], "german"),
        (["Jak mogę rozwiązać umowę i odzyskać pieniądze?"], "simple"),
        (["How do I cancel my contract?", "Wie kann ich meinen Vertrag kündigen?"], "simple"),
        ([], "simple"),
    ],
)
def test_the_configuration_follows_the_language_of_the_queries(texts: Sequence[str], expected: str) -> None:
    assert configuration_for(texts) == expected


def test_identifier_queries_of_the_sample_are_found_by_their_words(server_dsn: str) -> None:
    """The choice of OR and ts_rank rests on these numbers; see the module."""
    labels = read_labels(bundled("data") / "sample", rel_level=1)
    asked, corpus = labels.queries, labels.corpus
    assert corpus is not None
    texts = [f"{title}\n{text}" for title, text in zip(corpus["title"], corpus["text"], strict=True)]
    leg = search_texts(
        server_dsn, corpus["doc_id"].tolist(), texts, asked["query_id"].tolist(), asked["text"].tolist(), ENGLISH
    )
    relevant = set(labels.relevant_pairs().itertuples(index=False, name=None))
    codes = asked[(asked["kind"] == "identifier") & (asked["answerability"] == "answerable")]["query_id"].tolist()
    first = leg.rows[leg.rows["rank"] == 1].set_index("query_id")["doc_id"]
    assert len(codes) == 28
    assert sum((code, first.get(code)) in relevant for code in codes) >= 26
    assert asked["query_id"].isin(leg.rows["query_id"]).sum() >= 160, "any word is enough to be a candidate"


def test_letters_in_common_with_nothing_are_no_candidate_and_a_tsvector_has_no_letters(
    dsn: str, docs: str, execute: Callable[..., list[tuple]]
) -> None:
    execute(
        "CREATE FUNCTION word_similarity(asked text, body text) RETURNS real LANGUAGE sql IMMUTABLE"
        " AS 'SELECT CASE WHEN body LIKE ''%card%'' THEN 0.5::real ELSE 0::real END'"
    )
    execute("INSERT INTO docs VALUES ('empty', NULL, NULL, NULL)")
    how = TextSearch(rank="word_similarity")
    assert found(search_table(TextTable(docs, "body"), ["q1"], ["crad"], how, dsn=dsn)) == ["a", "b"]
    with pytest.raises(StoreError, match=r"words is a tsvector.*Name the column of the text"):
        search_table(TextTable(docs, "words"), ["q1"], ["crad"], how, dsn=dsn)


def test_texts_that_the_server_cannot_hold_are_named_at_once() -> None:
    with pytest.raises(LabelError, match=r"passage 'b' holds a NUL character\n.*passage 'c' holds half of a surrogate"):
        search_texts("host=/nowhere", ["a", "b", "c"], ["ü", "x\x00", "x\ud800"], ["q1"], ["x"])
