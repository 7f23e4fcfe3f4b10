"""A committed floor against the live system: what fails, what is stale, and what is noise."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from frozen_world import World, files, rate

from calibration.studies.check.drift import MEASURES, must_changes
from calibration.studies.check.frozen import COLUMNS
from calibration.studies.check.rise import ceiling_rise
from calibration.studies.check.study import check_baseline


def test_an_unchanged_system_is_fine_and_the_baseline_stays_as_it_was(world: World) -> None:
    baseline = world.frozen()
    before = files(baseline.path.parent)
    for tolerance in (None, 0.0, 0.02):
        found = check_baseline(baseline, world.params(), tolerance=tolerance)
        assert (found.status, found.ok, found.changes, found.accepted, found.failures) == ("fine", True, (), (), [])
        assert not any(must.broken for must in found.musts)
        assert found.n_queries == 100
        assert found.ceiling is not None
        assert not found.ceiling.warned
    assert files(baseline.path.parent) == before


@pytest.mark.parametrize(("lost", "fails"), [(2, False), (5, False), (6, True), (12, True)])
def test_sixty_answerable_queries_six_lost_fail_and_two_do_not(world: World, lost: int, fails: bool) -> None:
    baseline = world.frozen()
    kept = [int(row[1:]) for row in baseline.queries.query("hit == True")["query_id"] if int(row[1:]) > 1]
    world.hide(*kept[:lost])
    found = check_baseline(baseline, world.write())
    change = rate(found, "hit_rate")
    assert (change.paired.worse, change.paired.better, change.before.denominator) == (lost, 0, 60)
    assert (change.failed, found.regressed) == (fails, fails)
    assert len(found.accepted) >= lost
    strict = check_baseline(baseline, world.params(), tolerance=(lost - 1) / 60)
    assert strict.regressed
    allowed = check_baseline(baseline, world.params(), tolerance=lost / 60)
    assert not allowed.regressed


def test_answering_everything_does_not_pass(world: World) -> None:
    """The other direction: a filter that is gone, a floor that is ignored."""
    baseline = world.frozen()
    for name, vector in list(world.queries.items()):
        if name.startswith("o"):
            world.passages[f"copy-{name}"] = vector
    found = check_baseline(baseline, world.write())
    change = rate(found, "false_answer_rate_off_topic")
    assert change.failed
    assert "inert: 0 of 40 are refused" in change.why
    assert not rate(found, "hit_rate").failed
    assert [must.query_id for must in found.musts if must.broken] == ["o0"]
    assert found.status.endswith("regression")


def test_a_must_hit_query_breaks_the_gate_alone(world: World) -> None:
    baseline = world.frozen()
    world.hide(1)
    found = check_baseline(baseline, world.write())
    assert not any(one.failed for one in found.rates)
    assert [(must.query_id, must.must) for must in found.musts if must.broken] == [("a1", "hit")]
    assert found.failures == ["query a1 must hit: gets no relevant passage, unlike in the baseline"]


def test_a_swap_of_the_model_behind_the_same_name_and_width_is_stale_and_named(world: World) -> None:
    """The passages' vectors come from elsewhere; ids, texts, counts and width are as before."""
    baseline = world.frozen()
    world.turn()
    found = check_baseline(baseline, world.write())
    assert found.stale
    stale = [change.words for change in found.changes if change.consequence == "stale"]
    assert stale == ["32 of 32 sampled passages have other vectors under the same ids: " + stale[0].split(": ")[1]]
    coverage = rate(found, "coverage")
    assert (coverage.before.denominator, coverage.now.denominator) == (100, 100)
    assert coverage.now.numerator > coverage.before.numerator


def test_c37_a_floor_above_every_score_of_the_new_model(world: World) -> None:
    baseline = world.frozen()
    for name in world.passages:
        world.passages[name] = -world.passages[name]
    found = check_baseline(baseline, world.write())
    highest = max(float(query @ passage) for query in world.queries.values() for passage in world.passages.values())
    assert found.verdict == f"floor {baseline.floor:.4g} is above the highest observed score {highest:.4g}"
    assert rate(found, "coverage").now.numerator == 0
    assert rate(found, "hit_rate").failed
    assert found.stale


def test_more_passages_are_named_and_checked_again(world: World) -> None:
    baseline = world.frozen()
    world.distract(0.1)
    found = check_baseline(baseline, world.write())
    assert not found.stale
    assert [(change.part, change.consequence) for change in found.changes] == [("corpus", "recheck")]
    assert found.changes[0].words == "the corpus has 66 passages, it had 60."


def test_distractors_the_ceiling_warns_before_the_false_answers_leave_their_interval(world: World) -> None:
    baseline = world.frozen()
    claimed = baseline.document["rates"]["in_sample"]["false_answer_rate_off_topic"]
    warned, left = [], []
    for _ in range(10):  # ten steps to twice the corpus
        world.distract(0.1)
        found = check_baseline(baseline, world.write())
        assert found.ceiling is not None
        warned.append(found.ceiling.warned)
        now = rate(found, "false_answer_rate_off_topic").now.value
        left.append(not claimed["low"] <= now <= claimed["high"])
    assert len(world.passages) == 120
    assert warned[-1]
    first = {name: (flags.index(True) if True in flags else 99) for name, flags in (("w", warned), ("l", left))}
    assert first["w"] < first["l"]
    assert "while the corpus went from 60 to 120 passages" in found.ceiling.words


def test_c95_the_baseline_stays_while_the_system_declines(world: World) -> None:
    baseline = world.frozen()
    before = files(baseline.path.parent)
    kept = [int(row[1:]) for row in baseline.queries.query("hit == True")["query_id"] if int(row[1:]) > 1]
    nights = []
    for night in range(4):
        world.hide(*kept[: 2 * night])
        nights.append(check_baseline(baseline, world.write(), tolerance=4 / 60).regressed)
    assert nights == [False, False, False, True]
    assert files(baseline.path.parent) == before


def test_c97_queries_that_are_skipped_fail_their_gate(world: World) -> None:
    baseline = world.frozen()
    for i in range(40):
        world.queries.pop(f"o{i}")
    found = check_baseline(baseline, world.write())
    change = rate(found, "false_answer_rate_off_topic")
    assert (change.failed, change.why) == (True, "0 of 40 frozen queries evaluated")
    assert len(found.missing) == 40
    assert [must.words for must in found.musts if must.broken] == ["was not asked"]


def test_queries_that_a_gate_no_longer_sees_are_counted(world: World) -> None:
    baseline = world.frozen()
    for i in range(5):
        world.queries.pop(f"o{i + 1}")
    found = check_baseline(baseline, world.write())
    change = rate(found, "false_answer_rate_off_topic")
    assert (change.failed, change.why) == (False, "35 of 40 frozen queries evaluated")
    assert found.ok
    assert found.warnings[-1].startswith("5 frozen queries were not asked")


def test_a_query_that_was_lost_already_and_a_new_one() -> None:
    def row(name: str, must: str, hit: bool) -> list[Any]:
        return [name, "answerable", name, must, False, ["d"] if hit else [], hit, False, 0.5]

    before = pd.DataFrame([row("a", "hit", False), row("b", "hit", True)], columns=COLUMNS)
    now = pd.DataFrame([row("a", "hit", False), row("b", "hit", True), row("c", "hit", False)], columns=COLUMNS)
    assert [(one.query_id, one.broken) for one in must_changes(before, now)] == [("a", False), ("c", True)]


def test_measures_are_rates_of_the_recommendation(world: World) -> None:
    baseline = world.frozen()
    found = check_baseline(baseline, world.params())
    claimed = baseline.document["rates"]["in_sample"]
    for measure in MEASURES:
        change = rate(found, measure.name)
        expected = claimed[measure.name]
        assert (change.now.numerator, change.now.denominator) == (expected["numerator"], expected["denominator"])
        assert change.before == change.now


def test_the_ceiling_is_compared_on_the_same_queries_only(world: World) -> None:
    queries = world.frozen().queries
    fewer = queries[queries["query_id"] != "o3"]
    found = ceiling_rise(queries, fewer, floor=0.2, documents=(60, 60))
    assert found is not None
    assert (found.n, found.before == found.now, found.rise, found.warned) == (39, True, 0.0, False)
    answerable = queries[queries["answerability"] == "answerable"]
    assert ceiling_rise(answerable, queries, floor=0.1, documents=(60, 60)) is None


def test_the_ceiling_of_a_floor_that_it_passes(world: World) -> None:
    queries = world.frozen().queries
    risen = queries.assign(top_similarity=queries["top_similarity"] + 0.1)
    off_topic = queries.loc[queries["answerability"] == "off_topic", "top_similarity"]
    ceiling = float(np.quantile(off_topic, 0.95))
    found = ceiling_rise(queries, risen, floor=ceiling + 0.05, documents=(60, None))
    assert found is not None
    assert found.warned
    assert "the ceiling has passed the floor" in found.words
    left = ceiling_rise(queries, risen, floor=ceiling + 0.15, documents=(60, 120))
    assert left is not None
    assert "0.0500 of 0.1500 is left to the floor" in left.words
    assert "while the corpus went from 60 to 120 passages" in left.words
