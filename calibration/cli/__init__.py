"""The command, one file per verb. Imports of real work happen inside the verbs, so that --help is quick."""

import typer

from . import (
    carry_labels,
    check,
    clean,
    compare,
    convert,
    doctor,
    hybrid,
    init,
    inspect,
    lab,
    migrate,
    options_command,
    plan,
    run,
)

app = typer.Typer(
    name="calibrate",
    help="Choose the similarity floor and the top-K of a vector retrieval system from evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("inspect")(inspect.inspect)
app.command("plan")(plan.plan)
app.command("check")(check.check)
app.command("compare")(compare.compare)
app.command("convert", cls=convert.NegativeNumbers)(convert.convert)
app.command("migrate")(migrate.migrate)
app.command("carry-labels")(carry_labels.carry_labels)
app.command("options")(options_command.options)
app.command("hybrid")(hybrid.hybrid)
app.command("doctor")(doctor.doctor)
app.command("init")(init.init)
app.command("lab")(lab.lab)
app.command("clean")(clean.clean)

__all__ = ["app"]
