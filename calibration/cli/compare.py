"""`calibrate compare`: two finished runs, one page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o

if TYPE_CHECKING:
    from ..runs.page import PageRun

Run = Annotated[Path, typer.Argument(help="folder of a run, or its recommendation.json")]


def compare(
    old: Run,
    new: Run,
    out: Annotated[str, typer.Option("--out", help="folder of the page", metavar="DIR")] = "reports/compare",
    force: Annotated[bool, typer.Option("--force", help="make every file anew")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Compare two finished runs.

    The same model over time, or two models: what changed, what moved by more than noise, and what the old run's floor
    does to the new run's scores. Writes compare.html and compare.json; nothing is embedded or pulled.
    """
    from ..result.files import dumps
    from ..runs.compare import compare_page
    from .progress import Bars

    done = compare_page(old, new, out, force=force, report=Bars())
    typer.echo(dumps(done.document) if as_json else _text(done))


def _text(done: "PageRun") -> str:
    from ..result.check_words import plain_line

    document = done.document
    lines = [_run("old", document["old"]), _run("new", document["new"]), ""]
    lines += [f"{change['consequence']:<8} {change['part']}: {change['words']}" for change in document["changes"]]
    carried = document["old_floor_on_new_scores"]
    if carried:
        kept = carried["hit_rate"]
        lines.append(f"old floor on the new scores: answers kept {_of(kept['before'])} -> {_of(kept['now'])}")
    lines += [f"worse    {words}" for words in document["worse"]]
    broken = [must for must in document["must"] if must["broken"]]
    lines += [f"worse    query {must['query_id']} must {must['must']}: {must['words']}" for must in broken]
    if document["verdict"]:
        lines.append(f"worse    {document['verdict']}")
    if document["ceiling"] is not None and document["ceiling"]["warned"]:
        lines.append(f"warning  {document['ceiling']['words']}")
    lines += ["", f"{done.page}{'  (unchanged)' if done.skipped else ''}"]
    return "\n".join(plain_line(line) for line in lines)


def _run(name: str, one: dict[str, Any]) -> str:
    floor = "no floor" if one["floor"] is None else f"floor {one['floor']!r}"
    return f"{name}  {one['model']} of {one['date']}: {floor}, top-K {one['top_k']}  {one['recommendation']}"


def _of(rate: dict[str, Any]) -> str:
    return f"{rate['numerator']:g} of {rate['denominator']}"
