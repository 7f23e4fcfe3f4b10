"""`calibrate convert`: one threshold in the units of another metric."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from . import options as o
from .errors import ERROR

if TYPE_CHECKING:
    from ..contract import Converted, ScoreContract

UNIT = "query_and_document_unit_l2"
_NEGATIVE = re.compile(r"-\.?(\d|inf|nan)")


class NegativeNumbers(TyperCommand):
    """A command whose argument may be a negative number, which would otherwise be read as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move negative numbers, which no option of the command takes, behind a `--`."""
        if "--" in args:
            return super().parse_args(ctx, args)
        numbers = [text for text in args if _NEGATIVE.match(text)]
        kept = [text for text in args if not _NEGATIVE.match(text)]
        return super().parse_args(ctx, [*kept, "--", *numbers] if numbers else args)


def convert(
    value: Annotated[float, typer.Argument(parser=o.number, help="the threshold in use", metavar="VALUE")],
    source: Annotated[str, typer.Option("--from", help="metric of the threshold", metavar="METRIC")],
    target: Annotated[str, typer.Option("--to", help="metric of the filter to write", metavar="METRIC")],
    normalisation: Annotated[
        str, typer.Option("--normalisation", help="which vectors are of unit length", metavar="WHICH")
    ] = UNIT,
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="a score equal to the threshold is rejected; accepted by default")
    ] = False,
    transform_from: Annotated[
        str, typer.Option("--transform-from", help="formula the old scores went through", metavar="FORMULA")
    ] = "none",
    transform_to: Annotated[
        str, typer.Option("--transform-to", help="formula the new scores go through", metavar="FORMULA")
    ] = "none",
    as_json: o.AsJson = False,
) -> None:
    """Say a threshold in another metric's units.

    Metrics: cosine_similarity, cosine_distance, l2, squared_l2, inner_product, negative_inner_product, and scores that
    convert to nothing else. Formulas such as (1+cos)/2, 1/(1+d) or sigmoid. Where no algebra leads from one to the
    other, it says why and exits with 1.
    """
    import json

    from ..contract import ScoreContract
    from ..contract import convert as converted
    from ..errors import ContractError

    try:
        old, new = (
            ScoreContract(
                metric,
                normalisation=normalisation,  # type: ignore[arg-type]  # checked by the contract
                threshold_inclusive=not exclusive,
                score_transform=formula,
            )
            for metric, formula in ((source, transform_from), (target, transform_to))
        )
        found = converted(value, old, new)
    except ContractError as error:
        if not as_json:
            raise
        typer.echo(json.dumps({"refused": str(error)}, ensure_ascii=False, indent=2))
        raise typer.Exit(ERROR) from None
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else _text(value, old, new, found))


def _text(value: float, old: "ScoreContract", new: "ScoreContract", found: "Converted") -> str:
    from ..contract import described

    low, high = found.boundary
    return "\n".join(
        [
            f"{described(old)} {old.comparison} {value!r}",
            f"is {described(new)} {found.comparison} {found.value!r}",
            _lengths(old, new),
            f"Scores from {low:.8g} to {high:.8g} lie on the boundary, where storage decides rather than meaning.",
            f"Apply it: {found.snippet}",
        ]
    )


def _lengths(old: "ScoreContract", new: "ScoreContract") -> str:
    if old.definition.to_cosine is None:
        return "The lengths of vectors play no part in it."
    if old.normalisation == UNIT and (old.definition.needs_unit_vectors or new.definition.needs_unit_vectors):
        return (
            "Holds where both query and document vectors are of unit length: measure it, or say which are with "
            "--normalisation (query_unit_l2, document_unit_l2, none)."
        )
    if old.normalisation == UNIT:
        return "Both query and document vectors are taken to be of unit length; this holds for vectors of any length."
    return f"Holds for vectors of any length (normalisation {old.normalisation})."
