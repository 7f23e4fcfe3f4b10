"""`calibrate migrate`: two searches, one page; exit 3 unless the accepted set is shown to be the same."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .errors import REGRESSION

if TYPE_CHECKING:
    from ..runs.page import PageRun

SHOWN = ("unchanged", "unchanged except boundary")
"""Verdicts that let a switch pass. Where no query is near the threshold nothing was shown, and a gate that passes what
it did not look at is none."""


def migrate(
    old: Annotated[Path, typer.Argument(help="contract file of the search in use")],
    new: Annotated[Path, typer.Argument(help="contract file of the search to switch to")],
    queries: Annotated[
        str | None,
        typer.Option("--queries", help="query vectors (npz, parquet), or questions with --model", metavar="FILE"),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="model that embeds the questions", metavar="NAME")
    ] = None,
    out: Annotated[str, typer.Option("--out", help="folder of the page", metavar="DIR")] = "reports/migration",
    labels: o.LabelsFolder = None,
    qrels: o.Qrels = None,
    rel_level: o.RelLevel = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", parser=o.whole, help="cap where a contract names none; 10", metavar="K")
    ] = None,
    near: Annotated[
        float | None,
        typer.Option("--near", parser=o.number, help="distance from the threshold that is near it; 0.02", metavar="D"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="make every file anew")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Compare two searches over the same queries.

    Each contract file says what its scores mean, its threshold and its source. Searches both exactly and as deployed,
    names every document whose acceptance flips with its cause, and writes migration.html and migration.json. Exits
    with 3 unless the accepted set is shown to be the same, rounding apart. Faiss index files are deserialised: name
    only files you trust.
    """
    from ..params import validated
    from ..result.files import dumps
    from ..runs.migrate import migrate_page
    from ..studies.migrate.params import MigrateParams
    from .progress import Bars

    given = {
        "old": str(old), "new": str(new), "queries": queries, "model": model, "labels": labels, "qrels": qrels,
        "rel_level": rel_level, "top_k": top_k, "near": near, "out": out,
    }  # fmt: skip
    params = validated(MigrateParams, {name: value for name, value in given.items() if value is not None})
    done = migrate_page(params, force=force, report=Bars())
    typer.echo(dumps(done.document) if as_json else _text(done))
    if done.document["verdict"] not in SHOWN:
        raise typer.Exit(REGRESSION)


def _text(done: "PageRun") -> str:
    document = done.document
    near = document["best_candidate"]
    lines = [f"verdict  {document['verdict']}"]
    if document["conversion"] is not None:
        rule = document["conversion"]
        lines.append(f"rule     {rule['comparison']} {rule['value']!r} on {rule['metric']}")
    lines += [_agreed(name, document["agreement"][name]) for name in ("exact", "deployed")]
    lines += [
        f"index    {side}: {_of(rates['at_k'])} of the first K, {_of(rates['at_floor'])} past the threshold"
        for side, rates in document["recall"].items()
    ]
    lines += [f"flips    {count} {cause}" for cause, count in document["causes"].items() if count]
    lines.append(f"queries  {near['above']} above the threshold, {near['near']} near it, {near['below']} below")
    if document["verdict"] not in (*SHOWN, "changed"):
        lines.append(
            f"note     no best candidate lies within {near['margin']:g} of the threshold, so a moved one would not be "
            "seen: add queries there, or widen --near"
        )
    lines += [f"note     {words}" for words in document["findings"]]
    return "\n".join([*lines, "", f"{done.page}{'  (unchanged)' if done.skipped else ''}"])


def _agreed(name: str, found: dict[str, Any]) -> str:
    return (
        f"{name:<8} order {_of(found['ranking'])}, accepted set {_of(found['accepted'])}; answers lost "
        f"{len(found['lost_answers'])}, gained {len(found['new_answers'])}"
    )


def _of(rate: dict[str, Any]) -> str:
    return f"{rate['numerator']:g} of {rate['denominator']}"
