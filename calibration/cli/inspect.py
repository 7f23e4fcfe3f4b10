"""`calibrate inspect`: the raw top of one question at threshold zero."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o
from .config import run_parameters

if TYPE_CHECKING:
    from ..studies.inspect import Inspection


def inspect(
    question: Annotated[str, typer.Argument(help="a question as a user types it")],
    model: o.Model = None,
    labels: o.LabelsFolder = None,
    queries: o.Queries = None,
    qrels: o.Qrels = None,
    corpus: o.Corpus = None,
    vectors: o.Vectors = None,
    dsn: o.Dsn = None,
    service: o.Service = None,
    table: o.TableName = None,
    id_column: o.IdColumn = None,
    vector_column: o.VectorColumn = None,
    document_column: o.DocumentColumn = None,
    where: o.Where = None,
    metric: o.Metric = None,
    base_url: o.BaseUrl = None,
    rel_level: o.RelLevel = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="how many passages")] = 20,
    settings: o.Set = None,
    config: o.Config = None,
    as_json: o.AsJson = False,
) -> None:
    """Look at one question's best passages.

    Shows their raw similarities, without a threshold, and the bands of the labelled queries beside them. With several
    models the first one is used.
    """
    given = {
        "model": model, "labels": labels, "queries": queries, "qrels": qrels, "corpus": corpus, "vectors": vectors,
        "dsn": dsn, "service": service, "table": table, "id_column": id_column, "vector_column": vector_column,
        "document_column": document_column, "where": where, "metric": metric, "base_url": base_url,
        "rel_level": rel_level,
    }  # fmt: skip
    params = run_parameters(given, config, settings or ())[0]
    from ..studies.inspect import inspect_question
    from .progress import Bars

    found = inspect_question(question, params, Bars(), limit=limit)
    typer.echo(_json(found) if as_json else _table(found))


def _table(found: "Inspection") -> str:
    lines = ["rank  similarity  answers below  noise above  passage"]
    for hit in found.hits.to_dict("records"):
        shares = f"{_percent(hit['answers_below']):>13}  {_percent(hit['noise_above']):>11}"
        preview = hit["preview"] if isinstance(hit["preview"], str) else ""
        lines.append(f"{hit['rank']:>4}  {hit['similarity']:>10.4f}  {shares}  {hit['doc_id']}  {preview}".rstrip())
    lines.append("")
    for name in ("best_relevant", "near_noise", "far_noise", "missing_answer"):
        band = found.bands[name]
        summary = band.summary()
        if summary["p50"] is not None:
            quantiles = f"5 % {summary['p05']:.3f}, median {summary['p50']:.3f}, 95 % {summary['p95']:.3f}"
            lines.append(f"{band.label}: {quantiles} (n = {summary['n']})")
    lines.append(f"Scale: {found.scale}; it is not a probability. {found.n_documents} passages, no threshold.")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return "-" if share != share else f"{share:.0%}"


def _json(found: "Inspection") -> str:
    from ..result import dumps
    from ..result.document import strip_nan

    hits = found.hits.astype(object).where(found.hits.notna(), None)
    bands = {name: band.summary() for name, band in found.bands.bands.items()}
    return dumps(
        strip_nan(
            {"hits": hits.to_dict("records"), "bands": bands, "scale": found.scale, "documents": found.n_documents}
        )
    )
