"""What a migration's page shows: numbers, words and tables of studies over arrays in memory."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from deployed import Corpus, study

from calibration.displays import (
    CaveatsDisplay,
    FlipsDisplay,
    MigrationDisplay,
    PositionsDisplay,
    WrongMigrationsDisplay,
)
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import Migration, migrate

KINDS = (MigrationDisplay, FlipsDisplay, PositionsDisplay, WrongMigrationsDisplay, CaveatsDisplay)


@pytest.fixture
def converted() -> Migration:
    """The bundled example."""
    return migrate(MigrateParams())


@pytest.fixture
def copied(tmp_path: Path) -> Migration:
    """The seed's fixture under a hostile name, with the number copied into squared L2."""
    cosines = np.array([0.9, 0.7, 0.3])
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    corpus = Corpus(tmp_path, None, ["A", "<script>B", "C"], vectors, [[1, 0]])
    old = corpus.contract("numpy cosine_similarity", 0.8, name="old")
    return study(corpus, old, corpus.contract("numpy squared_l2", 0.8, name="new"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["converted", "copied"])
def test_every_display_gives_numbers_words_and_html(kind, name, request):
    display = kind(request.getfixturevalue(name))
    assert isinstance(display.frame(), pd.DataFrame)
    assert display.caption.endswith(".")
    assert kind.title in repr(display)
    html = BeautifulSoup(display._repr_html_(), "html.parser")
    assert html.find_all(["script", "img", "iframe"]) == []


def test_the_verdict_counts_what_it_rests_on(converted, copied):
    display = MigrationDisplay(converted)
    assert display.caption == (
        "Unchanged: over 60 queries both sides accept the same documents. Best candidates: 27 above the threshold, "
        "6 near it, 27 below."
    )
    assert MigrationDisplay(copied).caption.startswith("Changed: 1 document flips (conversion 1).")
    rows = display.frame().set_index("measure")
    assert rows.loc["queries with the same accepted set"].tolist() == ["60 of 60", "60 of 60"]
    assert rows.loc["queries answered before", "exact"] == "30 of 60"
    hidden = MigrationDisplay(replace(converted, verdict="not shown"))
    assert "a threshold that moved would not have been seen" in hidden.caption
    edge = MigrationDisplay(replace(converted, verdict="unchanged except boundary", flips=copied.flips))
    assert "1 document flips, each within the tolerance" in edge.caption


def test_both_sides_are_shown_with_rule_and_backend(converted):
    text = BeautifulSoup(MigrationDisplay(converted)._repr_html_(), "html.parser").get_text(" ")
    for words in (">= 0.8", "<= 0.4", "squared_l2", "numpy", "none: exact", "Agreement"):
        assert words in text


def test_flips_name_document_and_cause_and_escape_both(converted, copied):
    display = FlipsDisplay(copied)
    assert display.caption.startswith("1 document flips; in 1 of 1 cases the rule itself differs")
    html = display._repr_html_()
    assert "&lt;script&gt;B" in html
    assert "the rules disagree although both searches are exact" in html
    assert FlipsDisplay(converted).caption == "No document flips."


def test_the_wrong_migrations_are_said_with_their_counts(copied):
    words = WrongMigrationsDisplay(copied).caption
    assert "With the number copied (<= 0.8) 1 document is accepted that the old rule refused, 0 are refused" in words
    assert "With the number and direction copied (>= 0.8) 1 document is" in words


def test_the_figure_says_when_no_query_would_have_noticed(converted, copied):
    assert "within 0.02 of it for 6" in PositionsDisplay(converted).caption
    assert "None is near" in PositionsDisplay(copied).caption
    svg = PositionsDisplay(converted).svg()
    assert "threshold" in svg
    assert "aria-label" in svg
    nothing = replace(converted, positions=converted.positions.assign(best=np.nan, position="below"))
    assert PositionsDisplay(nothing).empty
    assert PositionsDisplay(nothing).caption == "No query has a candidate on the old side."


def test_what_the_queries_do_not_exercise_is_a_caveat(copied):
    assert copied.caveats[0].startswith("No query's best candidate lies near or below the threshold")
    assert "The new threshold is 0.8" in copied.caveats[1]
