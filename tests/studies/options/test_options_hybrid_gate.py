"""The gate of the hybrid option: two floors that are chosen together, and what is said where they cannot be."""

from dataclasses import replace
from functools import cache
from typing import Any

import made_options
import numpy as np
import pandas as pd

from calibration.studies.hybrid.designs import EITHER, TOGETHER, possible_gates
from calibration.studies.hybrid.source import Source
from calibration.studies.options.bench import Bench
from calibration.studies.options.designs import Design, designs, shown
from calibration.studies.options.floors import calibrate_signal


@cache
def two_sided() -> Source:
    """Every fourth answer is found by words alone; off-topic queries hold words as often as answers that vectors find.

    So words alone must reach down among the off-topic queries, and beside the similarity they need not.
    """
    rng = np.random.default_rng(3)
    near: list[Any] = []
    words: list[Any] = []
    queries = []
    for i in range(48):
        by_words = i % 4 == 0
        best = float(rng.uniform(0.1, 0.3) if by_words else rng.uniform(0.45, 0.8))
        near += made_options.rows_of(f"a{i}", best, 0.1, rng, answer=0)
        words.append((f"a{i}", "d0", 0.09 if by_words else 0.02 + 0.02 * float(rng.random())))
        near += made_options.rows_of(f"x{i}", float(rng.uniform(0.0, 0.4)), 0.1, rng, answer=1)
        words.append((f"x{i}", "d1", 0.05 * float(rng.random())))
        queries += [(f"a{i}", "-", "answerable"), (f"x{i}", "-", "off_topic")]
    return made_options.source_of(near, words, made_options.queries_of(queries))


def hybrid_of(bench: Bench) -> Design:
    return designs(bench, "no reranker")[-1]


def answered(passed: pd.DataFrame, prefix: str) -> int:
    return int(passed.loc[passed["query_id"].str.startswith(prefix), "query_id"].nunique())


def test_the_hybrid_option_pays_only_for_what_the_first_floor_leaves() -> None:
    """Two floors that were chosen alone add up their false answers; the option keeps as many answers with fewer."""
    bench = made_options.bench_of(two_sided())
    design = hybrid_of(bench)
    chosen = {name: calibrate_signal(bench, name).chosen for name in ("similarity", "lexical")}
    gates = possible_gates(bench.candidates, chosen, bench.table, bench.far, bench.params, bench.source.legs)
    apart = replace(design, floors=lambda query, fold: gates[EITHER].by_fold[0 if fold is None else fold])
    ours, theirs = (shown(bench, one, held_out=True) for one in (design, apart))
    assert answered(ours, "a") == answered(theirs, "a") == 48
    assert answered(ours, "x") < answered(theirs, "x") - 5
    assert {one.signal: one.value for one in design.thresholds} == {
        one.signal: one.value for one in gates[TOGETHER].floors
    }
    assert design.held_out
    assert "the lexical floor is chosen on what the similarity floor leaves" in design.note


def test_a_floor_that_is_chosen_beside_another_carries_no_promise() -> None:
    bench = made_options.bench_of(two_sided())
    own = calibrate_signal(bench, "lexical").choice
    second = next(one for one in hybrid_of(bench).thresholds if one.signal == "lexical")
    assert own.floor is not None
    assert second.value > own.floor
    assert second.status == "uncertified"


def test_a_query_has_no_say_in_the_two_floors_it_meets() -> None:
    source = two_sided()
    bench = made_options.bench_of(source)
    before = hybrid_of(bench)
    rows = source.candidates.rows
    moved = rows.assign(lexical=rows["lexical"].where(rows["query_id"] != "a0", 0.011))
    after = hybrid_of(made_options.bench_of(replace(source, candidates=replace(source.candidates, rows=moved))))
    assert before.floors is not None
    assert after.floors is not None
    fold = bench.folds["a0"]
    assert after.floors("a0", fold) == before.floors("a0", fold)
    others = [other for other in set(bench.folds.values()) if other != fold]
    assert [after.floors("a1", other) for other in others] != [before.floors("a1", other) for other in others]


def test_a_second_floor_that_only_adds_false_answers_is_left_out() -> None:
    """Vectors tell all apart; words would let off-topic queries through and add no answer."""
    rng = np.random.default_rng(5)
    near: list[Any] = []
    words: list[Any] = []
    queries = []
    for i in range(30):
        near += made_options.rows_of(f"a{i}", float(rng.uniform(0.7, 0.9)), 0.1, rng, answer=0)
        near += made_options.rows_of(f"x{i}", float(rng.uniform(0.1, 0.3)), 0.1, rng, answer=1)
        words += [(f"a{i}", "d0", float(rng.uniform(0.05, 0.1))), (f"x{i}", "d1", float(rng.uniform(0.0, 0.06)))]
        queries += [(f"a{i}", "-", "answerable"), (f"x{i}", "-", "off_topic")]
    bench = made_options.bench_of(made_options.source_of(near, words, made_options.queries_of(queries)))
    assert calibrate_signal(bench, "lexical").choice.floor is not None
    design = hybrid_of(bench)
    assert [one.signal for one in design.thresholds] == ["similarity"]
    assert answered(shown(bench, design, held_out=True), "x") == 0
    assert design.note == "only the similarity lets a passage pass: a second floor would cost more than it brings"
