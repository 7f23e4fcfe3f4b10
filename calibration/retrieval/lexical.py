"""The lexical leg: PostgreSQL full-text search of a table or of texts sent along; nothing is written anywhere.

A passage counts when it holds any word of the query. Asking for all of them, as `plainto_tsquery` and
`websearch_to_tsquery` do, left 122 of the sample's 165 queries without a single candidate; any word leaves 4.
`ts_rank` divides by the number of words asked for, so a passage with more of them scores higher; `ts_rank_cd` adds up
covers, which any frequent word makes. On the sample the first told off-topic from on-topic queries with an AUC of 0.92,
the second with 0.80, and it put an answer first for 27 of 28 identifier queries against 17. Trigrams (pg_trgm on
PostgreSQL 15) put one first for 24 and told off-topic queries with 0.86, in fifty times the time: they are for
misspelled names, not for prose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from psycopg import sql

from ..contract import ScoreContract
from ..errors import LabelError, ParameterError, StoreError, listed
from ..labels import detect_languages
from ..sources.postgres.catalog import Names
from ..sources.postgres.connect import Connection, explained, snapshot
from .candidates import Leg

Rank = Literal["ts_rank", "ts_rank_cd", "word_similarity"]

CONFIGURATIONS = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}
"""Language of the queries -> PostgreSQL's configuration; every other language is searched as it is written."""

DEPTH = 100


@dataclass(frozen=True)
class TextSearch:
    """How words are compared.

    Attributes
    ----------
    configuration : str
        A text search configuration of the server: "simple" for words as they are written, or a language.
    rank : str
        "ts_rank", "ts_rank_cd", or "word_similarity" of the extension pg_trgm, which compares letters, not words.
    normalisation : int
        Bit mask of ts_rank; 1 divides by 1 + log(length), which also breaks most ties.
    """

    configuration: str = "simple"
    rank: Rank = "ts_rank"
    normalisation: int = 1

    def __post_init__(self) -> None:
        if self.rank not in get_args(Rank):
            raise ParameterError(f"unknown rank {self.rank!r}; expected one of {', '.join(get_args(Rank))}.")
        if not 0 <= self.normalisation < 64:
            raise ParameterError(f"normalisation is {self.normalisation}; expected the bits 1 to 32 of ts_rank.")

    @property
    def contract(self) -> ScoreContract:
        """The contract of the scores: their own scale, never a similarity's."""
        how = "" if self.rank == "word_similarity" else f"{self.configuration}, normalisation {self.normalisation}"
        return ScoreContract(self.rank, normalisation="none", embedding_version=how or "undeclared")


@dataclass(frozen=True)
class TextTable:
    """Where the passages' words lie in a database.

    Attributes
    ----------
    text_column : str
        A text, or a tsvector that is kept beside it: then an index on it may be used, and `configuration` must be the
        one it was made with.
    where : str, optional
        SQL condition kept on the query, unchanged.
    """

    table: str
    text_column: str
    id_column: str = "id"
    document_column: str | None = None
    where: str | None = None


def configuration_for(texts: Sequence[str]) -> str:
    """Choose the configuration by the language of the queries; "simple" for several languages, or one without words.

    Examples
    --------
    >>> configuration_for(["How do I cancel my contract?"]), configuration_for(["Jak mogę rozwiązać umowę?"])
    ('english', 'simple')
    """
    languages = detect_languages(list(texts))
    return CONFIGURATIONS.get(languages[0], "simple") if len(languages) == 1 else "simple"


def search_table(
    table: TextTable,
    query_ids: Sequence[str],
    queries: Sequence[str],
    how: TextSearch = TextSearch(),
    *,
    dsn: str | None = None,
    service: str | None = None,
    depth: int = DEPTH,
    statement_timeout: float = 600.0,
) -> Leg:
    """Search a user's table, in one read-only snapshot: no index, no table, no setting is left behind.

    Raises
    ------
    StoreError
        No connection, no such table, column or configuration, no right to read, or no pg_trgm where it is asked for.
    """
    with snapshot(dsn, service, statement_timeout=statement_timeout) as connection, explained(f"search {table.table}"):
        kind = _column_type(connection, table)
        if kind == "tsvector" and how.rank == "word_similarity":
            raise StoreError(
                f"{table.text_column} is a tsvector, whose words are cut and sorted; word_similarity compares letters. "
                "Name the column of the text, or rank by ts_rank."
            )
        column = sql.Identifier(table.text_column)
        words = column if kind == "tsvector" else _words(how, column)
        own = sql.SQL("{}::text").format(sql.Identifier(table.id_column))
        if table.document_column is not None:
            own = sql.SQL("coalesce({}::text, {})").format(sql.Identifier(table.document_column), own)
        relation = sql.SQL("SELECT {} AS id, {}::text AS body, {} AS words FROM {}").format(
            own, column, words, sql.Identifier(*Names(table.table).parts)
        )
        if table.where is not None:
            relation += sql.SQL(" WHERE (" + table.where.replace("%", "%%") + "\n)")
        return _search(connection, relation, (), query_ids, queries, how, depth, kept=kind == "tsvector")


def search_texts(
    conninfo: str,
    doc_ids: Sequence[str],
    texts: Sequence[str],
    query_ids: Sequence[str],
    queries: Sequence[str],
    how: TextSearch = TextSearch(),
    *,
    depth: int = DEPTH,
    statement_timeout: float = 600.0,
) -> Leg:
    """Search texts that are sent along with the queries; any PostgreSQL will do, and nothing is stored in it.

    Parameters
    ----------
    doc_ids : sequence of str
        May repeat: the best passage then speaks for its document.

    Raises
    ------
    LabelError
        Texts that PostgreSQL cannot hold.
    StoreError
        No such configuration, no pg_trgm where it is asked for, or a passage of more than a million bytes of different
        words.
    """
    _check_sendable("passage", doc_ids, texts)
    _check_sendable("query", query_ids, queries)
    relation = sql.SQL("SELECT id, body, {} AS words FROM unnest(%s::text[], %s::text[]) AS sent(id, body)").format(
        _words(how, sql.SQL("body"))
    )
    sent = (list(doc_ids), list(texts))
    with snapshot(conninfo, None, statement_timeout=statement_timeout) as connection, explained("search the texts"):
        return _search(connection, relation, sent, query_ids, queries, how, depth, kept=False)


def _check_sendable(what: str, ids: Sequence[str], texts: Sequence[str]) -> None:
    problems = []
    for name, text in zip(ids, texts, strict=True):
        if "\x00" in text:
            problems.append(f"{what} {name!r} holds a NUL character")
        elif not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            problems.append(f"{what} {name!r} holds half of a surrogate pair")
    if problems:
        raise LabelError("texts that PostgreSQL cannot search; take these characters out:\n" + listed(problems))


def check_configuration(connection: Connection, name: str) -> None:
    """Refuse a text search configuration that the server does not have, before anything is searched."""
    rows = connection.execute("SELECT cfgname FROM pg_ts_config ORDER BY cfgname").fetchall()
    known = [str(row[0]) for row in rows]
    if name not in known:
        raise StoreError(f"the server has no text search configuration {name!r}; it has: {', '.join(known)}.")


def trigram_schema(connection: Connection) -> str | None:
    """Name the schema that holds `word_similarity` of pg_trgm; None where the server has it not."""
    row = connection.execute(
        "SELECT n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        " WHERE p.proname = 'word_similarity' AND p.pronargs = 2 ORDER BY n.nspname LIMIT 1"
    ).fetchone()
    return None if row is None else str(row[0])


# A number is also looked for with its sign turned: PostgreSQL reads ERR-1042 as "err" and "-1042", ERR 1042 as "1042".
_ASKED = """
asked AS MATERIALIZED (
  SELECT given.number, given.body, (
    SELECT string_agg('''' || replace(replace(word, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery
    FROM (
      SELECT lexeme AS word FROM unnest(to_tsvector({configuration}::regconfig, given.body))
      UNION
      SELECT CASE WHEN lexeme LIKE '-%%' THEN substr(lexeme, 2) ELSE '-' || lexeme END
      FROM unnest(to_tsvector({configuration}::regconfig, given.body)) WHERE lexeme ~ '^-?[0-9]+$'
    ) AS words
  ) AS query
  FROM unnest(%s::text[]) WITH ORDINALITY AS given(body, number)
)"""


def _search(
    connection: Connection,
    relation: sql.Composable,
    parameters: tuple[list[str], ...],
    query_ids: Sequence[str],
    queries: Sequence[str],
    how: TextSearch,
    depth: int,
    *,
    kept: bool,
) -> Leg:
    """Run all queries in one statement, so that words are made of each passage once."""
    check_configuration(connection, how.configuration)
    score, condition = _scoring(connection, how)
    statement = sql.SQL(
        "WITH {asked}, passages AS {once} ({relation}) SELECT asked.number, found.id, found.score FROM asked"
        " CROSS JOIN LATERAL (SELECT passages.id, max({score})::float8 AS score FROM passages WHERE {condition}"
        ' GROUP BY passages.id ORDER BY score DESC, passages.id COLLATE "C" LIMIT {depth}) AS found'
    ).format(
        asked=sql.SQL(_ASKED).format(configuration=sql.Literal(how.configuration)),
        # a stored tsvector is read where it lies, so that an index on it can help
        once=sql.SQL("NOT MATERIALIZED" if kept else "MATERIALIZED"),
        relation=relation,
        score=score,
        condition=condition,
        depth=sql.Literal(depth),
    )
    rows = connection.execute(statement, (list(queries), *parameters)).fetchall()
    return Leg(_frame(rows, query_ids), how.contract)


def _scoring(connection: Connection, how: TextSearch) -> tuple[sql.Composable, sql.Composable]:
    if how.rank == "word_similarity":
        schema = trigram_schema(connection)
        if schema is None:
            raise StoreError(
                "the server has no word_similarity: pg_trgm is not installed in this database. Its owner can add it: "
                "CREATE EXTENSION pg_trgm. Or rank by ts_rank."
            )
        score = sql.SQL("{}(asked.body, passages.body)").format(sql.Identifier(schema, "word_similarity"))
        # letters in common with none of the query's words are no candidate, as no word in common is none
        return score, sql.SQL("{} > 0").format(score)
    rank = sql.SQL(how.rank)
    score = sql.SQL("{}(passages.words, asked.query, {})").format(rank, sql.Literal(how.normalisation))
    return score, sql.SQL("passages.words @@ asked.query")


def _words(how: TextSearch, column: sql.Composable) -> sql.Composed:
    return sql.SQL("to_tsvector({}::regconfig, {}::text)").format(sql.Literal(how.configuration), column)


def _column_type(connection: Connection, table: TextTable) -> str:
    query = sql.SQL("SELECT pg_typeof({})::text FROM (SELECT NULL) AS one LEFT JOIN {} AS t ON true LIMIT 1").format(
        sql.Identifier("t", table.text_column), sql.Identifier(*Names(table.table).parts)
    )
    row = connection.execute(query).fetchone()
    return "" if row is None else str(row[0])


def _frame(rows: Sequence[tuple[int, str, float]], query_ids: Sequence[str]) -> pd.DataFrame:
    numbers = np.array([row[0] for row in rows], dtype=np.int64)
    frame = pd.DataFrame(
        {
            "query_id": pd.Series([query_ids[number - 1] for number in numbers], dtype="str"),
            "doc_id": pd.Series([row[1] for row in rows], dtype="str"),
            "score": np.array([row[2] for row in rows], dtype=np.float64),
            "number": numbers,
        }
    )
    frame = frame.sort_values(["number", "score", "doc_id"], ascending=[True, False, True], ignore_index=True)
    return frame.assign(rank=frame.groupby("number").cumcount() + 1)[["query_id", "doc_id", "score", "rank"]]
