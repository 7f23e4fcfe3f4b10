"""What single figures and their frames say, on numbers checkable by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from made_calibrations import compared, made, two_models

from calibration.choose import proportion
from calibration.displays import (
    BandsDisplay,
    ComparisonDisplay,
    CurvesDisplay,
    GradesDisplay,
    ModelBandsDisplay,
    PoliciesDisplay,
    RiskCoverageDisplay,
    SurfaceDisplay,
    TopKDisplay,
)
from calibration.displays.lines import corners, wilson_band
from calibration.displays.surface import _boxes
from calibration.studies.model import Calibration


def test_c74_equal_values_and_one_value_are_shown_as_dots(three_hits: Calibration) -> None:
    display = BandsDisplay(three_hits)
    frame = display.frame().set_index("band")
    assert frame.loc["best relevant per query", ["n", "min", "max"]].tolist() == [3, 0.47, 0.47]
    assert frame.loc["far noise (labelled off-topic queries)", ["n", "min"]].tolist() == [1, 0.2]
    svg = display.svg()
    assert "n = 3" in svg
    assert "n = 1" in svg
    dots = [line for line in display.plot().lines if line.get_marker() == "o"]
    assert sorted(x for line in dots for x in line.get_xdata()) == [0.2, 0.47, 0.47, 0.47]
    heights = next(line.get_ydata() for line in dots if len(line.get_xdata()) == 3)
    assert len(set(heights)) == 3, "equal values must not hide each other"


def test_c74_a_model_without_relevant_scores_says_so(nothing_relevant: Calibration) -> None:
    display = BandsDisplay(nothing_relevant)
    assert "no relevant scores" in display.svg()
    assert "There are no relevant scores." in display.alt
    assert "None" not in display.caption


def test_no_scores_at_all_still_draws(nothing_relevant: Calibration) -> None:
    none = {name: replace(band, similarity=band.similarity[:0]) for name, band in nothing_relevant.bands.bands.items()}
    empty = replace(
        nothing_relevant,
        bands=replace(nothing_relevant.bands, bands=none),
        scores=replace(
            nothing_relevant.scores, histogram=replace(nothing_relevant.scores.histogram, counts=np.zeros((2, 2000)))
        ),
        curves=nothing_relevant.curves.iloc[:0],
        surface=nothing_relevant.surface.iloc[:0],
    )
    for kind in (BandsDisplay, CurvesDisplay, RiskCoverageDisplay, SurfaceDisplay, TopKDisplay, PoliciesDisplay):
        display = kind(empty)
        assert display.svg()
        assert display.plot()
        assert display._repr_html_()
    assert "nothing was scored" in BandsDisplay(empty).svg()


def test_bands_mark_the_floor_the_gap_and_the_old_floor(drawn: Calibration) -> None:
    ax = BandsDisplay(drawn).plot()
    said = {text.get_text() for text in ax.texts}
    gap = drawn.choice.gap
    assert f"floor {drawn.floor:.4g}" in said
    assert "old floor 0.78" in said
    assert f"gap {gap.high - gap.low:.4g}" in said
    verticals = [set(line.get_xdata()) for line in ax.lines if line.get_color() in ("#1f2328", "#59636e")]
    assert {drawn.floor} in verticals
    assert {0.78} in verticals


def test_a_floor_of_zero_is_drawn(three_hits: Calibration) -> None:
    zero = replace(three_hits, choice=replace(three_hits.choice, floor=0.0))
    assert "floor 0" in BandsDisplay(zero).svg()
    assert "floor 0" in CurvesDisplay(zero).svg()
    assert "The floor 0.0 is the solid line." in BandsDisplay(zero).caption


def test_curves_carry_wilson_bounds(three_hits: Calibration) -> None:
    frame = CurvesDisplay(three_hits).frame().set_index("threshold")
    row = frame.loc[0.47]
    assert row[["hits", "hit_rate", "hit_rate_high"]].tolist() == [3, 1.0, 1.0]
    assert row["hit_rate_low"] == pytest.approx(0.4385, abs=1e-4)
    assert row[["off_topic_kept", "false_answer_rate", "false_answer_rate_low"]].tolist() == [0, 0.0, 0.0]
    assert frame.loc[0.2, "false_answer_rate"] == 1.0


def test_curves_are_steps_that_hold_down_to_the_next_lower_score(three_hits: Calibration) -> None:
    ax = CurvesDisplay(three_hits).plot()
    hit = next(line for line in ax.lines if line.get_color() == "#0068a8")
    assert hit.get_drawstyle() == "steps-pre"
    x, y = hit.get_xdata(), hit.get_ydata()
    assert y[x == 0.47].tolist() == [1.0]
    assert y[x > 0.47].tolist() == [0.0], "above the highest score nothing is accepted"


def test_curves_name_every_line_without_a_legend(drawn: Calibration) -> None:
    ax = CurvesDisplay(drawn).plot()
    said = {text.get_text() for text in ax.texts}
    assert {"hit rate", "false answers", "recall", "precision (judged)", "coverage"} <= said
    assert ax.get_legend() is None


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, float("nan")]), min_size=1, max_size=30))
def test_leaving_out_the_points_between_corners_changes_no_step(values: list[float]) -> None:
    y = np.array(values)
    x = np.arange(len(y), dtype=float)
    kept = corners(y)
    # steps-pre: a point's value holds down to the point before
    redrawn = y[kept][np.searchsorted(x[kept], x)]
    np.testing.assert_array_equal(redrawn, y)


def test_wilson_band_without_denominator_is_undefined() -> None:
    low, high = wilson_band([0, 0], 0)
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_risk_caption_states_both_bounds_and_their_denominator(drawn: Calibration) -> None:
    rates = drawn.in_sample.rates
    caption = RiskCoverageDisplay(drawn).caption
    assert f"of the {rates['risk_high'].denominator} answered ones" in caption
    assert rates["risk_low"].value < rates["risk_high"].value
    assert "depending on passages nobody has judged" in caption


def test_surface_covers_every_pair_once(drawn: Calibration) -> None:
    frame = SurfaceDisplay(drawn).frame()
    grid = np.sort(frame["threshold"].unique())
    edge = grid[0] - 1.0
    steps = np.diff(np.append(edge, grid))
    boxes = _boxes(frame, grid, edge)
    area = sum((right - left) * (top - bottom) for left, right, bottom, top in boxes)
    assert area == pytest.approx(steps.sum() * frame["top_k"].nunique())
    assert len(boxes) == 1, "cells of one shade are one rectangle"
    one_k = frame[(frame["top_k"] == 2) & (frame["threshold"] >= grid[3])]
    assert _boxes(one_k, grid, edge) == [(grid[2], grid[-1], 1.5, 2.5)]


def test_surface_marks_the_chosen_pair(drawn: Calibration) -> None:
    ax = SurfaceDisplay(drawn).plot()
    mark = next(line for line in ax.lines if line.get_marker() == "o")
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (drawn.floor, drawn.top_k.value)


def test_top_k_display_counts_hits(drawn: Calibration) -> None:
    frame = TopKDisplay(drawn).frame()
    assert frame["hits"].is_monotonic_increasing
    assert frame.loc[frame["chosen"], "top_k"].tolist() == [drawn.top_k.value]
    assert f"{frame.loc[frame['chosen'], 'hits'].item()} of 100 answerable queries" in TopKDisplay(drawn).caption


def test_top_k_display_prices_every_k_and_says_what_the_next_smaller_one_would_do(drawn: Calibration) -> None:
    price = replace(
        drawn.price, by_k=drawn.price.by_k.assign(tokens=drawn.price.by_k["passages"] * 120), counted_by="x"
    )
    priced = TopKDisplay(replace(drawn, price=price))
    top_k, smaller = drawn.top_k, drawn.top_k.next_smaller
    assert smaller is not None
    passages, less = (price.at(k)[0] for k in (top_k.value, smaller))
    assert f"{passages:.1f} passages ({passages * 120:,.0f} tokens) on average" in priced.caption
    lost = top_k.hits[top_k.value - 1] - top_k.hits[smaller - 1]
    assert f"K = {smaller} would lose {lost} answer" in priced.caption
    assert f"save {passages - less:.1f} passages" in priced.caption
    binds = drawn.price.binds
    assert f"the cap binds for {binds.numerator} of 100" in priced.caption
    assert "Tokens by x." in priced.caption
    assert priced.plot().child_axes[0].get_xlabel() == "tokens per query"
    assert TopKDisplay(drawn).plot().child_axes[0].get_xlabel() == "passages per query"
    assert "Tokens are not counted" in TopKDisplay(drawn).caption
    assert f"for {passages:.1f} passages each on average" in SurfaceDisplay(drawn).caption


def test_grades_show_what_is_kept_of_each_and_nothing_of_one() -> None:
    qrels = [(f"q{i}", f"d{i}", 2) for i in range(6)] + [(f"q{i}", f"e{i}", 1) for i in range(6)]
    rows = [(f"q{i}", f"d{i}", 0.6 + i / 100) for i in range(6)] + [(f"q{i}", f"e{i}", 0.1 + i / 10) for i in range(6)]
    rows += [("o", "d0", 0.2)]
    found = made([*((f"q{i}", "answerable") for i in range(6)), ("o", "off_topic")], qrels, rows, top_k=5)
    display = GradesDisplay(found)
    frame = display.frame().set_index("grade")
    kept = {grade: rate.numerator for grade, rate in found.in_sample.recall_by_grade.items()}
    assert frame["kept"].to_dict() == kept
    assert frame["n"].tolist() == [6, 6]
    assert 0 < frame.loc[1, "below_floor"] < 6
    assert f"of grade 1, {kept[1]} of 6" in display.caption
    assert f"{frame.loc[1, 'below_floor']} below the floor" in display.caption
    dots = sum(len(line.get_xdata()) for line in display.plot().lines if line.get_marker() == "o")
    assert dots == 12
    assert "floor" in display.svg()
    one_grade = GradesDisplay(replace(found, grades=found.grades[found.grades["grade"] == 2]))
    assert one_grade.empty
    assert one_grade._repr_html_() == ""
    many = pd.concat([found.grades] * 20, ignore_index=True)
    assert GradesDisplay(replace(found, grades=many)).svg()


def test_policies_mark_ours_and_name_the_best_other(drawn: Calibration) -> None:
    display = PoliciesDisplay(drawn)
    labels = [label.get_text() for label in display.plot().get_yticklabels()]
    assert labels.count("this floor") == 1
    assert len(labels) == len(display.frame())
    ours = display.frame().set_index("policy").loc["recommended", "cost_held_out"]
    assert f"ours {ours:.4g}" in display.caption


def test_comparison_shows_what_a_carried_floor_does() -> None:
    low, high = two_models()
    display = ComparisonDisplay(compared([low, high]))
    assert display.frame()["model"].tolist() == ["low", "high"]
    assert display.frame()["floor"].tolist() == [repr(low.floor), repr(high.floor)]
    carried = compared([low, high]).carried.set_index("from_model")
    assert f"{carried.loc['high', 'hits']} of 100 kept" in display.svg()
    assert f"{carried.loc['low', 'false_answers']} of 25 false" in display.svg()
    assert "25 of 25 off-topic queries" in display.caption
    assert "Not carried: recalibrate." in display._repr_html_()


def test_comparison_shows_how_much_of_each_top_k_nobody_has_judged() -> None:
    low, high = two_models()
    frame = ComparisonDisplay(compared([low, high])).frame()
    assert frame["unjudged"].tolist() == [
        f"{one.unjudged.numerator:g} of {one.unjudged.denominator}" for one in (low, high)
    ]
    judged = replace(low, unjudged=proportion(0, 500))
    text = BeautifulSoup(ComparisonDisplay(compared([judged, high]))._repr_html_(), "html.parser").get_text(" ")
    assert "of the first K of high: some may be answers" in text
    assert "more than that of low (0%)" in text
    fair = ComparisonDisplay(compared([judged, replace(high, unjudged=proportion(10, 500))]))
    assert "some may be answers" not in fair._repr_html_()


def test_policies_name_the_cut_per_query_and_what_it_cannot_do(drawn: Calibration) -> None:
    html = PoliciesDisplay(drawn)._repr_html_()
    assert "cut per query" in html
    assert "refuses nothing" in html
    row = PoliciesDisplay(drawn).frame().set_index("policy").loc["max F0.5"]
    assert f"unseen {row['hits_held_out']}" in html


def test_comparison_of_models_without_a_floor(nothing_relevant: Calibration) -> None:
    alone = compared([nothing_relevant])
    assert "no floor can be carried" in ComparisonDisplay(alone).caption
    assert ComparisonDisplay(alone).svg()
    assert ModelBandsDisplay(alone).svg()
    assert "No model's labels support a floor." in ModelBandsDisplay(alone).alt


def test_model_bands_share_one_axis_with_every_floor() -> None:
    models = two_models()
    ax = ModelBandsDisplay(compared(models)).plot()
    floors = {f"floor {found.floor:.4g}" for found in models}
    assert floors <= {text.get_text() for text in ax.texts}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["high", "low"]
