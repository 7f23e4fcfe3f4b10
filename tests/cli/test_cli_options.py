"""`calibrate options`: what is refused at once, and the command that a study names."""

from collections.abc import Callable
from typing import Any

import pytest
import typer

from calibration.cli import app
from calibration.params import HOW_ONLY
from calibration.studies.facts import NO_OPTION, OPTIONS
from calibration.studies.options.params import OptionsParams

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "minilm", "--model", "wordllama"), "the options are measured with one model"),
        (("--rerank", "cross-encoder"), "an address that starts with http://"),
        (("--text-column", "body"), "text_column is a column of `table`"),
        (("--set", "scores=s.csv"), "a score file holds one score"),
        (("--set", "rerank_dept=5"), "did you mean 'rerank_depth'?"),
        (("--off-topic-share", "0,5"), "0.5"),
    ],
)
def test_what_cannot_work_is_refused_at_once(command: Command, arguments: tuple[str, ...], words: str) -> None:
    said = command("options", *arguments)
    assert said.code in (1, 2)
    assert words in said.err
    assert "Traceback" not in said.err


def test_the_command_that_a_study_names_can_be_typed() -> None:
    known = {
        word
        for parameter in typer.main.get_command(app).commands["options"].params  # type: ignore[attr-defined]
        for word in parameter.opts
    }
    # a score file is refused, an old floor not asked about, and how a pull is spread is no part of a result
    unused = {"scores", "score_transform", "old_floor", "probes", *HOW_ONLY}
    named = {name: OPTIONS.get(name, f"--{name.replace('_', '-')}") for name in OptionsParams.model_fields}
    assert [name for name in named if name not in NO_OPTION | unused and named[name] not in known] == []
