"""A committed floor against the live system: what fails, what is stale, and what is noise."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frozen_world import World

from calibration.choose.paired import LEVEL
from calibration.errors import CalibrationError, ParameterError
from calibration.studies.check.baseline import read_baseline
from calibration.studies.check.drift import MEASURES, accepted_changes, must_changes, rate_changes
from calibration.studies.check.frozen import COLUMNS
from calibration.studies.check.rise import ceiling_rise
from calibration.studies.check.study import Check, check_baseline


@pytest.fixture(scope="module")
def frozen_once(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("frozen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(folder / "cache"))
        patch.delenv("CALIBRATION_RUN", raising=False)
        world = World.made(folder / "world", must={"a0": "hit", "a1": "hit", "o0": "refuse"})
        world.freeze()
    return world


@pytest.fixture
def world(frozen_once: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A copy of a world with its baseline, to be changed."""
    monkeypatch.setenv("CALIBRATION_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CALIBRATION_RUN", raising=False)
    shutil.copytree(frozen_once.folder, tmp_path / "world")
    return replace(
        frozen_once,
        folder=tmp_path / "world",
        queries=dict(frozen_once.queries),
        passages=dict(frozen_once.passages),
    )


def rate(check: Check, name: str) -> Any:
    return next(one for one in check.rates if one.measure.name == name)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


def frame_of(hits: list[bool], answered: list[bool]) -> pd.DataFrame:
    """Answerable queries that hit or get nothing, and off-topic ones that are answered or refused."""
    kinds = [("a", hit) for hit in hits] + [("o", taken) for taken in answered]
    names = {"a": "answerable", "o": "off_topic"}
    rows = []
    for i, (kind, taken) in enumerate(kinds):
        name, docs = f"{kind}{i}", ["d"] if taken else []
        rows.append([name, names[kind], name, "-", False, docs, taken if kind == "a" else None, False, 0.8])
    return pd.DataFrame(rows, columns=COLUMNS)


def failed_gates(before: pd.DataFrame, now: pd.DataFrame, tolerance: float | None = None) -> dict[str, str]:
    changes = rate_changes(before, now, tolerance=tolerance)
    return {change.measure.name: change.why for change in changes if change.failed}


@pytest.mark.parametrize("tolerance", [None, 0.99])
def test_c38_a_floor_that_rejects_nothing_any_more(tolerance: float | None) -> None:
    before, now = frame_of([True] * 2, [False] * 4), frame_of([True] * 2, [True] * 4)
    found = failed_gates(before, now, tolerance)
    assert found == {"false_answer_rate_off_topic": "the floor is inert: 0 of 4 are refused"}
    assert failed_gates(now, now, tolerance) == {}, "as in the baseline"


@pytest.mark.parametrize("tolerance", [None, 0.99])
def test_a_floor_that_keeps_nothing_any_more(tolerance: float | None) -> None:
    """Three lost answers are within noise, and none that is kept is not."""
    before, now = frame_of([True] * 3, [False]), frame_of([False] * 3, [False])
    assert failed_gates(before, now, tolerance) == {"hit_rate": "0 of 3 keep an answer"}
    assert failed_gates(before, frame_of([False, False, True], [False]), tolerance) == {}


def test_paraphrases_of_one_need_are_lost_once() -> None:
    before, now = frame_of([True] * 20, [False]), frame_of([False] * 6 + [True] * 14, [False])
    assert list(failed_gates(before, now)) == ["hit_rate"]
    one_need = ["one need"] * 6 + before["group"].tolist()[6:]
    assert failed_gates(before.assign(group=one_need), now) == {}


def test_a_gate_needs_half_of_its_queries() -> None:
    before = frame_of([True] * 3, [False] * 40)
    assert failed_gates(before, before.head(3 + 20)) == {}
    assert failed_gates(before, before.head(3 + 19)) == {
        "false_answer_rate_off_topic": "19 of 40 frozen queries evaluated"
    }


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


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_a_tolerance_is_a_share(world: World, tolerance: float) -> None:
    with pytest.raises(ParameterError, match="expected a share"):
        check_baseline(world.frozen(), world.params(), tolerance=tolerance)


def break_line(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(rows[0])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("recommendation.json", None, "no baseline"),
        ("queries.jsonl", None, "no baseline"),
        ("queries.jsonl", "", "0 queries evaluated"),
        ("queries.jsonl", "\n\n", "0 queries evaluated"),
        ("queries.jsonl", '{"query_id": "q"}\n', "line 1: answerability, group"),
        ("queries.jsonl", "[1]\n", "holds no JSON object"),
        ("recommendation.json", '{"floor": NaN}', "it holds NaN"),
        ("recommendation.json", "{}", "is no recommendation: model, floor"),
        ("recommendation.json", "not json", "cannot be read as JSON"),
        ("queries.jsonl", "{}\n{\n", "line 2 cannot be read as JSON"),
    ],
)
def test_c97_a_missing_or_broken_baseline_is_an_error(world: World, name: str, text: str | None, words: str) -> None:
    path = world.frozen().path.parent
    (path / name).unlink() if text is None else (path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=words):
        read_baseline(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("floor", "0.3", "floor is '0.3'"),
        ("floor", True, "floor is True"),
        ("floor", 10**400, "floor is"),
        ("top_k", 0, "top_k is 0"),
        ("top_k", None, "top_k is None"),
        ("rates", {}, "rates.in_sample are missing"),
        ("ceiling", None, "ceiling is None: input should be a valid dictionary$"),
        ("fingerprint", None, "fingerprint is None"),
        ("bands", [], "bands is"),
        ("contract", {}, "does not say its metric, score_transform, normalisation, threshold_inclusive"),
    ],
)
def test_a_baseline_of_impossible_values_is_refused(world: World, key: str, value: Any, words: str) -> None:
    path = world.frozen().path
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, key: value}), encoding="utf-8")
    with pytest.raises(ParameterError, match=words):
        read_baseline(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("query_id", 7), ("must", "hti"), ("must", None), ("probe", "no"), ("accepted", None), ("accepted", "d0"),
        ("accepted", [1]), ("hit", "yes"), ("answerability", "perhaps"), ("top_similarity", "0.3"),
    ],
)  # fmt: skip
def test_every_frozen_query_that_is_none_is_named(world: World, key: str, value: Any) -> None:
    path = world.frozen().path
    break_line(path.parent / "queries.jsonl", lambda row: row.update({key: value}))
    with pytest.raises(ParameterError, match=rf"cannot be compared with:\n  - line 1: {key}[.0]* is "):
        read_baseline(path)


def test_a_baseline_in_another_encoding(world: World) -> None:
    path = world.frozen().path
    plain = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + plain)
    assert read_baseline(path).floor == json.loads(plain)["floor"]
    path.write_bytes(plain.decode().encode("utf-16"))
    with pytest.raises(ParameterError, match="is not UTF-8"):
        read_baseline(path)


def test_queries_that_were_taken_out_of_a_baseline_are_noticed(world: World) -> None:
    path = world.frozen().path
    queries = path.parent / "queries.jsonl"
    lines = queries.read_text(encoding="utf-8").splitlines(keepends=True)
    queries.write_text("".join(line for line in lines if '"o' not in line), encoding="utf-8")
    with pytest.raises(ParameterError, match="queries answered are 60 of 60 in it, the recommendation says 60 of 100"):
        read_baseline(path)


def test_files_of_two_runs_are_refused(world: World) -> None:
    path = world.frozen().path

    def miss(row: dict[str, Any]) -> None:
        row["hit"] = not row["hit"]

    break_line(path.parent / "queries.jsonl", miss)
    with pytest.raises(ParameterError, match=r"does not belong to .* Commit both files of one run"):
        read_baseline(path)


def test_c97_nothing_evaluated_is_never_green(world: World) -> None:
    baseline = world.frozen()
    world.passages.clear()
    world.write("none.npz")
    with pytest.raises(CalibrationError, match="0 documents"):
        check_baseline(baseline, world.params(vectors="none.npz"))
    renamed = replace(baseline, queries=baseline.queries.assign(query_id="old-" + baseline.queries["query_id"]))
    with pytest.raises(ParameterError, match="0 queries evaluated"):
        check_baseline(renamed, world.params())
    (world.folder / "labels" / "queries.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(CalibrationError, match="0 queries"):
        check_baseline(baseline, world.params())


def test_c97_queries_that_are_skipped_fail_their_gate(world: World) -> None:
    baseline = world.frozen()
    for i in range(40):
        world.queries.pop(f"o{i}")
    found = check_baseline(baseline, world.write())
    change = rate(found, "false_answer_rate_off_topic")
    assert (change.failed, change.why) == (True, "0 of 40 frozen queries evaluated")
    assert len(found.missing) == 40
    assert [must.words for must in found.musts if must.broken] == ["was not asked"]


def test_c97_a_baseline_in_which_nothing_can_fail_is_never_green(world: World) -> None:
    baseline = world.frozen()
    nobody = baseline.queries.assign(answerability="unknown", must="-", hit=None)
    with pytest.raises(ParameterError, match="0 queries evaluated: none of the 100 frozen queries is answerable"):
        check_baseline(replace(baseline, queries=nobody), world.params())


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


def test_accepted_sets_are_sets() -> None:
    def frame(docs: list[str]) -> pd.DataFrame:
        return pd.DataFrame([["a", "answerable", "a", "-", False, docs, True, False, 0.5]], columns=COLUMNS)

    assert accepted_changes(frame(["x", "y"]), frame(["y", "x"])) == []
    (change,) = accepted_changes(frame(["x", "y"]), frame(["y", "z"]))
    assert (change.added, change.removed, change.boundary) == (("z",), ("x",), False)
    at_floor = frame(["y"]).assign(boundary=True)
    for pair in ((frame(["x"]), at_floor), (at_floor, frame(["x"]))):
        assert accepted_changes(*pair)[0].boundary


def test_checks_of_a_system_that_did_not_change_fail_in_at_most_five_percent() -> None:
    """The whole judgement, not the test alone (that is in test_paired.py): every query by chance, twice."""
    rng = np.random.default_rng(11)
    kinds = ["answerable"] * 60 + ["off_topic"] * 25 + ["probe"] * 40
    ids = [f"q{i}" for i in range(len(kinds))]
    failed = 0
    for _ in range(100):
        kept, answered, probed = rng.uniform([0.5, 0.02, 0.02], [0.98, 0.4, 0.3])
        chance = {"answerable": kept, "off_topic": answered, "probe": probed}
        runs = []
        for _ in range(2):
            taken = rng.random(len(kinds)) < [chance[kind] for kind in kinds]
            frame = pd.DataFrame({"query_id": ids, "group": ids, "must": "-", "boundary": False, "top_similarity": 0.5})
            frame["probe"] = [kind == "probe" for kind in kinds]
            frame["answerability"] = ["answerable" if kind == "answerable" else "off_topic" for kind in kinds]
            frame["accepted"] = [["d"] if one else [] for one in taken]
            frame["hit"] = [bool(one) if kind == "answerable" else None for one, kind in zip(taken, kinds, strict=True)]
            runs.append(frame)
        failed += any(change.failed for change in rate_changes(*runs))
    assert failed <= LEVEL * 100  # 29 of 2,000 when it was measured


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


@pytest.mark.parametrize(
    ("share", "room", "warned"), [(0.06, 1.0, True), (0.04, 1.0, False), (0.04, 0.02, True), (-0.5, 0.02, False)]
)
def test_the_ceiling_warns_from_a_twentieth_of_the_spread_or_when_it_passes_the_floor(
    share: float, room: float, warned: bool
) -> None:
    """`share` of the distance from median to ceiling is the rise, `room` of it was left to the floor."""
    queries = frame_of([], [False] * 41).assign(top_similarity=np.linspace(0.1, 0.5, 41))
    middle, ceiling = np.quantile(queries["top_similarity"], [0.5, 0.95])
    spread = float(ceiling - middle)
    risen = queries.assign(top_similarity=queries["top_similarity"] + share * spread)
    found = ceiling_rise(queries, risen, floor=float(ceiling) + room * spread, documents=(60, 60))
    assert found is not None
    assert found.rise == pytest.approx(share)
    assert found.warned is warned


def test_a_folder_or_a_file_of_any_name_is_a_baseline(world: World) -> None:
    baseline = world.frozen()
    shutil.copy(baseline.path, baseline.path.with_name("floor.json"))
    assert read_baseline(baseline.path.with_name("floor.json")).floor == baseline.floor
