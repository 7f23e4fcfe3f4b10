"""`calibrate inspect`: the raw top of one question at threshold zero."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o

if TYPE_CHECKING:
    from ..studies.inspect import Inspection


def inspect(
    question: Annotated[str, typer.Argument(help="a question as a user types it")],
    model: o.Model = None,
    labels: o.LabelsFolder = None,
    dsn: o.Dsn = None,
    service: o.Service = None,
    table: o.TableName = None,
    id_column: o.IdColumn = None,
    vector_column: o.VectorColumn = None,
    where: o.Where = None,
    rel_level: o.RelLevel = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="how many passages")] = 20,
    config: o.Config = None,
    as_json: o.AsJson = False,
) -> None:
    """Show the best passages of one question with their raw similarities, no threshold, and the bands beside them."""
    given = {
        "model": model or [o.ONE_OFF_MODEL], "labels": labels, "dsn": dsn, "service": service, "table": table, "id_column": id_column,
        "vector_column": vector_column, "where": where, "rel_level": rel_level,
    }  # fmt: skip
    params = o.run_parameters(given, config)[0]
    from ..studies.inspect import inspect_question
    from .progress import Bars

    found = inspect_question(question, params, Bars(), limit=limit)
    typer.echo(_json(found) if as_json else _table(found))


def _table(found: "Inspection") -> str:
    lines = ["rank  similarity  answers below  noise above  passage"]
    for row in found.hits.itertuples():
        preview = "" if row.preview != row.preview else f"  {row.preview}"
        lines.append(
            f"{row.rank:>4}  {row.similarity:>10.4f}  {_percent(row.answers_below):>13}  {_percent(row.noise_above):>11}  {row.doc_id}{preview}"
        )
    lines.append("")
    for name in ("best_relevant", "near_noise", "far_noise", "missing_answer"):
        band = found.bands[name]
        summary = band.summary()
        if summary["p50"] is not None:
            lines.append(
                f"{band.label}: 5 % {summary['p05']:.3f}, median {summary['p50']:.3f}, 95 % {summary['p95']:.3f} (n = {summary['n']})"
            )
    lines.append(f"Scale: {found.scale}; it is not a probability. {found.n_documents} passages, no threshold.")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return "-" if share != share else f"{share:.0%}"


def _json(found: "Inspection") -> str:
    from ..result import dumps
    from ..result.document import strip_nan

    hits = found.hits.astype(object).where(found.hits.notna(), None)
    bands = {name: band.summary() for name, band in found.bands.bands.items()}
    return dumps(strip_nan({"hits": hits.to_dict("records"), "bands": bands, "scale": found.scale, "documents": found.n_documents}))
