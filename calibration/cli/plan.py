"""`calibrate plan`: what a number of labelled queries can and cannot show."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o

if TYPE_CHECKING:
    from ..choose.plan import Plan, PlanRow

TARGET, CONFIDENCE = 0.9, 0.9


def plan(
    n: Annotated[
        list[int] | None, typer.Option("--n", min=1, help="number of answerable queries; may be given several times")
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", parser=o.number, help="hit rate to certify; 0.9", metavar="SHARE")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option("--confidence", parser=o.number, help="of the certificate; 0.9", metavar="SHARE")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Say what a number of labels can show.

    For 10, 20, 50 and 100 labelled queries, or the numbers given: which hit rate they can certify, how wide a reported
    rate would be, how far the floor itself would move, and which loss a later check could see; before anyone labels.
    """
    from dataclasses import asdict

    from ..choose.plan import SIZES
    from ..choose.plan import plan as make_plan
    from ..errors import ParameterError
    from ..result import dumps

    # not as the options' defaults: those would go through the parser of texts
    target = TARGET if target is None else target
    confidence = CONFIDENCE if confidence is None else confidence
    shares = {"target": target, "confidence": confidence}
    wrong = [f"{name} is {share:g}" for name, share in shares.items() if not 0 < share < 1]
    if wrong:
        raise ParameterError(f"{' and '.join(wrong)}; expected shares between 0 and 1, both excluded.")
    found = make_plan(tuple(n) if n else SIZES, target=target, confidence=confidence)
    typer.echo(dumps(asdict(found)) if as_json else _text(found))


def _text(found: "Plan") -> str:
    lines = [line for row in found.rows for line in _row(row, found)]
    promise = f"{found.target:.0%} at {found.confidence:.0%} confidence"
    lines.append(f"A hit rate of {promise} needs {found.needed} queries, none missed.")
    lines.append("Paraphrases of one need count once: give them one group.")
    lines.append("Off-topic queries: 20 of your own replace the bundled probes.")
    return "\n".join(lines)


def _row(row: "PlanRow", found: "Plan") -> list[str]:
    low, high = row.interval
    reach = "is" if row.certifies else "is not"
    return [
        f"{row.n} answerable queries",
        f"  certify a hit rate of up to {row.target_no_miss:.0%} with no miss, {row.target_one_miss:.0%} with one miss;"
        f" {found.target:.0%} {reach} in reach",
        f"  report a hit rate of 90% as {low:.0%} to {high:.0%}",
        f"  move the floor from one such set to another by {row.floor_spread:.0%} of the way from noise to answers",
        f"  {_gap(row.percentiles)}; {_loss(row.visible_loss, row.n)}",
    ]


def _gap(percentiles: bool) -> str:
    return (
        "the gap is given by percentiles"
        if percentiles
        else "only the extreme gap is shown, which shrinks with every label"
    )


def _loss(lost: int, n: int) -> str:
    return (
        f"a change is called a regression from {lost} lost answers on"
        if lost <= n
        else "no loss can be told from noise"
    )
