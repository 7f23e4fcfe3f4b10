"""`calibrate plan`: before anyone labels."""

import json
from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]


def test_plan_says_what_the_usual_numbers_of_labels_can_show(command: Command) -> None:
    said = command("plan")
    assert (said.code, said.err) == (0, "")
    assert [line for line in said.out.splitlines() if line.endswith("answerable queries")] == [
        f"{n} answerable queries" for n in (10, 20, 50, 100)
    ]
    assert "A hit rate of 90% at 90% confidence needs 22 queries, none missed." in said.out


def test_plan_of_given_numbers_as_json(command: Command) -> None:
    said = command("plan", "--n", 11, "--n", 10, "--target", 0.8, "--json")
    found = json.loads(said.out)
    assert (found["target"], found["confidence"], found["needed"]) == (0.8, 0.9, 11)
    assert [(row["n"], row["certifies"]) for row in found["rows"]] == [(11, True), (10, False)]


def test_shares_out_of_range_are_refused_together(command: Command) -> None:
    said = command("plan", "--target", 1, "--confidence", 0)
    assert said.code == 1
    assert said.out == ""
    assert "target is 1 and confidence is 0; expected shares between 0 and 1" in said.err
    assert command("plan", "--target", "0,9").code == 2
