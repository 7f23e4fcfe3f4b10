"""Pulling from vectors: which source, which query vectors, and the one pass over them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..embed import VectorFile, measured_norms, read_vectors
from ..errors import EmbeddingError, LabelError, StoreError
from ..labels import Labels, check_documents
from ..params import RunParams
from ..resources import cache_dir
from ..scores import Scores
from ..sources.base import VectorSource
from ..sources.vectorfile import VectorFileSource
from .inputs import Inputs, order_vectors, passage_texts, query_texts
from .parts import Workers
from .partstore import PartStore
from .progress import Reporter
from .pull import pull_scores, source_facts
from .snapshot import corpus_sample
from .texts import Texts

if TYPE_CHECKING:
    from ..sources.postgres import PostgresSource

Vectors = npt.NDArray[np.float32]


def pull_vectors(
    params: RunParams, inputs: Inputs, report: Reporter, parts: PartStore | None = None
) -> tuple[Scores, dict[str, Any], Labels]:
    """Embed what is not yet embedded, open the source, and pull.

    Parameters
    ----------
    parts : PartStore, optional
        Parts that an interrupted pull of the same inputs left, and a place for those of this one.

    Returns
    -------
    Scores, facts, Labels
        Labels, since judged passages are checked against a corpus that lies elsewhere.
    """
    with ExitStack() as stack:
        texts = Texts(params, report)
        source, queries, inputs = stack.enter_context(_open(params, inputs, texts, report))
        with report.bar(f"{params.run_name}: pull scores", None, "passages") as step:
            scores, preflight = pull_scores(
                source,
                inputs.query_ids,
                queries,
                inputs.labels,
                metric=params.metric,
                embedding_version=texts.version,
                k_max=params.k_max,
                inclusive=params.inclusive,
                strategy=params.strategy,
                progress=_increments(step),
                workers=Workers(params.workers, params.backend, params.scheduler),
                kept=parts,
            )
        verify = getattr(source, "verify", None)
        if verify is not None:
            # the server's own operator is asked for a few pairs, so that the matrix product is not taken on trust
            _check_agreement(verify(queries[:5]), scores)
        facts = {
            "source": source_facts(source, preflight),
            "model": texts.facts(),
            "corpus_hash": _corpus_hash(source, inputs),
            "truncated_texts": texts.truncated,
            "query_norms": _norms(queries),
            "search_plan": _search_plan(source, params.k_max),
            "sample": corpus_sample(
                source, inputs.labels, texts.passages if params.source_kind != "embedded" else None
            ),
        }
    return scores, facts, inputs.labels


def _search_plan(source: VectorSource, limit: int) -> dict[str, Any] | None:
    """Ask a database how it would search with a floor; None of other sources."""
    from ..sources.postgres import PostgresSource

    return source.search_plan(limit) if isinstance(source, PostgresSource) else None


@contextmanager
def _open(
    params: RunParams, inputs: Inputs, texts: Texts, report: Reporter
) -> Iterator[tuple[VectorSource, Vectors, Inputs]]:
    """Open the source that the parameters name, with the query vectors that fit it."""
    if params.source_kind == "embedded":
        with _embedded(params, inputs, texts, report) as source:
            yield source, _embed_queries(inputs, texts), inputs
    elif params.source_kind == "database":
        source, checked = _database(params, inputs)
        file = None if params.vectors is None else read_vectors(Path(params.vectors))
        yield source, _query_vectors(params, checked, texts, file), checked
    else:
        source = VectorFileSource(Path(params.vectors or ""), metric=params.metric)
        if not source.has_passages:
            raise StoreError("the vector file has no passage vectors (doc_ids, doc_vectors), and no database is given.")
        known = source.known(inputs.labels.qrels["doc_id"].unique().tolist())
        labels = check_documents(inputs.labels, known, allow_dangling=params.allow_dangling)
        checked = replace(inputs, labels=labels)
        found = source.queries()
        file = None if found is None else VectorFile(*found, None, None)
        yield source, _query_vectors(params, checked, texts, file), checked


@contextmanager
def _embedded(params: RunParams, inputs: Inputs, texts: Texts, report: Reporter) -> Iterator[VectorSource]:
    """Load the corpus into the embedded server and read it back from there."""
    from ..sources.postgres import PostgresSource, load_vectors, table_name
    from ..sources.postgres.server import embedded_server

    corpus = inputs.labels.corpus
    passages = passage_texts(inputs.labels)
    if corpus is None or corpus.empty:
        raise StoreError("0 documents: the corpus is empty, so there is nothing to calibrate on.")
    doc_ids = corpus["doc_id"].tolist()
    vectors = texts.embed(passages, "passage", doc_ids)
    documents = _documents(corpus["document_id"].tolist(), doc_ids, set(inputs.labels.qrels["doc_id"]))
    table = table_name(texts.digest, inputs.corpus_hash())
    with embedded_server(cache_dir()) as conninfo:
        with report.bar(f"{params.run_name}: load", len(doc_ids), "passages") as step:
            load_vectors(conninfo, table, doc_ids, vectors, documents, progress=_increments(step))
        yield PostgresSource(
            conninfo,
            table,
            document_column=None if documents is None else "document_id",
            metric=params.metric,
            statement_timeout=float(params.statement_timeout),
        )


def users_table(params: RunParams) -> "PostgresSource":
    """Describe the user's table as a source; nothing connects yet."""
    from ..sources.postgres import PostgresSource

    if params.table is None:
        raise StoreError("a database needs `table`, the table with the vectors.")
    return PostgresSource(
        params.dsn,
        params.table,
        id_column=params.id_column,
        vector_column=params.vector_column,
        document_column=params.document_column,
        model_column=params.model_column,
        where=params.where,
        metric=params.metric,
        model=(params.model_value or params.model) if params.model_column is not None else None,
        service=params.service,
        statement_timeout=float(params.statement_timeout),
    )


def _database(params: RunParams, inputs: Inputs) -> tuple[VectorSource, Inputs]:
    """Open the user's table, read-only, and check the judged passages against it."""
    source = users_table(params)
    if params.document_column is None:
        judged = inputs.labels.qrels["doc_id"].unique().tolist()
        known = source.vectors_of(judged)
        labels = check_documents(inputs.labels, known, allow_dangling=params.allow_dangling)
        inputs = replace(inputs, labels=labels)
    return source, inputs


def _query_vectors(params: RunParams, inputs: Inputs, texts: Texts, file: VectorFile | None) -> Vectors:
    """Use the query vectors of the file where it has them; the model embeds the probes, or all queries."""
    if file is None or file.query_ids is None or file.query_vectors is None:
        return _embed_queries(inputs, texts)
    labelled = order_vectors(inputs.labels.queries["query_id"].tolist(), file.query_ids, file.query_vectors, "queries")
    if inputs.probes is None:
        return labelled
    probes = texts.embed(inputs.probes["text"].tolist(), "query", inputs.probes["query_id"].tolist())
    if probes.shape[1] != labelled.shape[1]:
        raise EmbeddingError(
            f"{params.model} gives {probes.shape[1]} dimensions, the query vectors of the file have "
            f"{labelled.shape[1]}: they come from different models. Name the model behind the file, or none, and "
            "probes are left out."
        )
    return np.vstack([labelled, probes])


def _embed_queries(inputs: Inputs, texts: Texts) -> Vectors:
    return texts.embed(query_texts(inputs), "query", inputs.query_ids)


def _documents(document_ids: list[Any], doc_ids: list[str], judged: set[str]) -> list[str] | None:
    """Document of each passage; None where no passage names one, or where judgements are of passages.

    Raises
    ------
    LabelError
        Some judgements are of passages and some of whole documents.

    Examples
    --------
    >>> _documents(["a", "a"], ["a1", "a2"], {"a"}), _documents(["a", "a"], ["a1", "a2"], {"a2"})
    (['a', 'a'], None)
    """
    if not any(isinstance(name, str) for name in document_ids):
        return None
    documents = [name if isinstance(name, str) else doc for name, doc in zip(document_ids, doc_ids, strict=True)]
    of_passages, of_documents = judged - set(documents), judged - set(doc_ids)
    if of_passages and of_documents:
        raise LabelError(
            f"{len(of_passages)} judged ids are passages (such as {min(of_passages)!r}) and {len(of_documents)} are "
            f"documents (such as {min(of_documents)!r}). Judge one or the other; without document_id in the corpus, "
            "passages."
        )
    return None if of_passages else documents


def _check_agreement(difference: float, scores: Scores) -> None:
    # float32 products of long vectors differ by some 1e-6; anything more means the operator computes something else
    allowed = 1e-4 * max(1.0, float(np.abs(scores.histogram.edges).max()))
    if not difference <= allowed:
        raise StoreError(
            f"the server's operator and the matrix product differ by up to {difference:.3g} on a sample of pairs; "
            f"expected at most {allowed:.1g}. The column or the metric is not what it is declared to be."
        )


def _increments(step: Callable[[int], None]) -> Callable[[int, int], None]:
    """Turn (done, total) calls into amounts."""
    done = 0

    def advance(so_far: int, total: int) -> None:
        nonlocal done
        step(so_far - done)
        done = so_far

    return advance


def _corpus_hash(source: VectorSource, inputs: Inputs) -> str | None:
    """Content of the corpus where it can be seen whole; a user's table is known by its name and count only."""
    if isinstance(source, VectorFileSource):
        return source.content_hash()
    return None if inputs.labels.corpus is None else inputs.corpus_hash()


def _norms(queries: Vectors) -> dict[str, Any]:
    norms = measured_norms(queries)
    return {"min": norms.min, "max": norms.max, "not_unit": norms.not_unit}
