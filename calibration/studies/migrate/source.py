"""From the `source` of a contract file to the search it names."""

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...contract import ContractFile
from ...errors import ContractError, ParameterError, StoreError, listed
from ...sources.search import Searcher

Fields = Mapping[str, tuple[type, ...]]
TEXT: tuple[type, ...] = (str,)
FIELDS: dict[str, Fields] = {
    "pgvector": {
        "table": TEXT, "dsn": TEXT, "service": TEXT, "id_column": TEXT, "vector_column": TEXT, "where": TEXT,
        "operator": TEXT, "index": (dict,), "statement_timeout": (int, float),
    },
    "faiss": {"index": TEXT, "ids": TEXT, "ef_search": (int,), "nprobe": (int,)},
    "arrays": {"vectors": TEXT},
    "scores": {"file": TEXT},
}  # fmt: skip
"""Kind of source -> its fields and their types; null is as good as absent."""

FILES = ("vectors", "index", "ids", "file")
"""Fields that name files, unless the source is a database."""

REQUIRED = {"pgvector": ("table",), "faiss": ("index",), "arrays": ("vectors",), "scores": ("file",)}


def open_searcher(file: ContractFile) -> Searcher:
    """Open the search that a contract file names under `source`; paths in it are relative to the file.

    Nothing connects to a database yet. A Faiss index is deserialised: read only files you trust.

    Raises
    ------
    ContractError
        Without a source, with unknown or missing fields (all at once), or where source and metric contradict.
    ParameterError
        An index setting is out of range.
    """
    given = checked_source(file)
    return OPENERS[given["kind"]](given, _folder(file), file)


def checked_source(file: ContractFile) -> dict[str, Any]:
    """Give the fields of a source that are stated, once they are known to fit; nothing is opened.

    Raises
    ------
    ContractError, ParameterError
        As for `open_searcher`.
    StoreError
        A file that it names does not exist.
    """
    name = "the contract" if file.path is None else file.path.name
    if file.source is None:
        raise ContractError(f'{name} names no source, expected "source": {{"kind": …}} with kind {", ".join(FIELDS)}.')
    given = {key: value for key, value in file.source.items() if value is not None}
    problems = _problems(given)
    if problems:
        raise ContractError(f"the source of {name} cannot be used:\n{listed(problems)}")
    missing = [str(path) for path in named_files(file) if not path.is_file()]
    if missing:
        raise StoreError(f"{name} names files that do not exist: {', '.join(missing)}. Paths are relative to it.")
    if given["kind"] == "pgvector" and "index" in given:
        from ...sources.postgres.settings import index_use

        index_use(given["index"])
    return given


def named_files(file: ContractFile) -> list[Path]:
    """Give the paths of the files that a source names; none of a database."""
    source = {} if file.source is None else file.source
    if source.get("kind") == "pgvector":
        return []
    return [_folder(file) / source[field] for field in FILES if isinstance(source.get(field), str)]


def _folder(file: ContractFile) -> Path:
    return Path() if file.path is None else file.path.parent


def _problems(given: Mapping[str, Any]) -> list[str]:
    kind = given.get("kind")
    if kind not in FIELDS:
        return [f"kind is {kind!r}; expected one of {', '.join(FIELDS)}"]
    fields = FIELDS[kind]
    problems = []
    for name, value in given.items():
        if name == "kind":
            continue
        if name not in fields:
            close = difflib.get_close_matches(name, fields, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; {kind} knows {', '.join(fields)}"
            problems.append(f"unknown field {name!r}{hint}")
        elif not isinstance(value, fields[name]) or isinstance(value, bool):
            expected = " or ".join(kind.__name__ for kind in fields[name])
            problems.append(f"{name} is {value!r}, expected {expected.replace('dict', 'an object')}")
    return problems + [f"{name} is missing" for name in REQUIRED[kind] if name not in given]


def _pgvector(given: Mapping[str, Any], folder: Path, file: ContractFile) -> Searcher:
    from ...sources.postgres.candidates import PostgresSearcher
    from ...sources.postgres.catalog import SCORES
    from ...sources.postgres.connect import redact_dsn, split_password
    from ...sources.postgres.operators import metric_of_operator
    from ...sources.postgres.settings import index_use

    metric = file.contract.metric
    if "operator" in given:
        operator = given["operator"]
        metric_of_operator(operator)
        if metric in SCORES and SCORES[metric][0] != operator:
            raise ContractError(f"the source searches with {operator}, but {metric} comes from {SCORES[metric][0]}.")
    dsn = given.get("dsn")
    if dsn is not None and (split_password(dsn)[1] is not None or redact_dsn(dsn) != dsn):
        raise ParameterError(
            "the dsn of a contract file must not carry a password; put it into PGPASSWORD or ~/.pgpass."
        )
    return PostgresSearcher(
        dsn,
        given["table"],
        id_column=given.get("id_column", "id"),
        vector_column=given.get("vector_column", "embedding"),
        where=given.get("where"),
        metric=metric,
        service=given.get("service"),
        index=None if given.get("index") is None else index_use(given["index"]),
        statement_timeout=float(given.get("statement_timeout", 600.0)),
    )


def _faiss(given: Mapping[str, Any], folder: Path, file: ContractFile) -> Searcher:
    from ...sources.faiss import FaissSearcher

    ids = None if "ids" not in given else folder / given["ids"]
    searcher = FaissSearcher.read(
        folder / given["index"], ids, ef_search=given.get("ef_search"), nprobe=given.get("nprobe")
    )
    if searcher.metric != file.contract.metric:
        raise ContractError(
            f"the Faiss index returns {searcher.metric} (METRIC_L2 is squared), the contract says "
            f"{file.contract.metric}: the metric is what the backend returns. With unit vectors the same rule is "
            "convertible; write the index's metric and convert the threshold."
        )
    return searcher


def _arrays(given: Mapping[str, Any], folder: Path, file: ContractFile) -> Searcher:
    from ...embed import read_vectors
    from ...sources.arraysearch import ArraySearcher

    path = folder / given["vectors"]
    found = read_vectors(path)
    if found.doc_ids is None or found.doc_vectors is None:
        raise StoreError(f"{path.name} has no document vectors (doc_ids, doc_vectors).")
    return ArraySearcher(found.doc_ids, found.doc_vectors, metric=file.contract.metric)


def _scores(given: Mapping[str, Any], folder: Path, file: ContractFile) -> Searcher:
    from ...sources.filesearch import FileSearcher

    return FileSearcher(folder / given["file"], metric=file.contract.metric)


OPENERS: dict[str, Callable[[Mapping[str, Any], Path, ContractFile], Searcher]] = {
    "pgvector": _pgvector, "faiss": _faiss, "arrays": _arrays, "scores": _scores,
}  # fmt: skip
