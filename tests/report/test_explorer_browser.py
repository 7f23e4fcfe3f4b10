"""The floor explorer, driven by keyboard, mouse and finger: it says what the library computes, value by value."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import SIZES, opened, violations
from made_calibrations import HOSTILE, hostile, made, nothing_relevant, sample, three_hits
from notebooks_made import executed, hostile_page
from scipy.stats._result_classes import BinomTestResult

from calibration import report
from calibration.choose import Rate, proportion
from calibration.displays import ExplorerDisplay, FailuresDisplay
from calibration.displays.explorer_data import explorer_data
from calibration.displays.texts import interval, out_of, percent, shorten
from calibration.report import render_report
from calibration.studies.model import Calibration
from calibration.studies.rates import Outcome, outcome

pytestmark = pytest.mark.browser

NAMED = 30
"""Queries that a group names before it counts the rest."""


def page_of(browser: Any, folder: Path, found: Calibration, **settings: Any) -> tuple[Any, list[str]]:
    path = folder / "report.html"
    notebook = executed("# T\n\n## Explorer", ExplorerDisplay(found), "## Failures", FailuresDisplay(found))
    path.write_text(render_report(notebook, title="T"), encoding="utf-8")
    return opened(browser, path, **settings)


def setting(page: Any) -> tuple[float | None, int]:
    """Floor and K that the page says it shows."""
    floor = page.locator("input[type=range]").nth(0).get_attribute("aria-valuetext")
    return None if floor == "no floor" else float(floor), int(page.locator(".cal-value").inner_text())


def library(found: Calibration, floor: float | None, k: int) -> Outcome:
    return outcome(found.scores, found.labels, found.table, floor, k, seed=found.params.seed)


def shown_rates(page: Any) -> dict[str, tuple[str, str]]:
    rows = page.evaluate(
        """[...document.querySelectorAll('[data-rate]')].map(row => {
            const cell = row.querySelector('td');
            return [row.dataset.rate, [cell.firstChild.textContent, cell.lastChild.textContent]];
        })"""
    )
    return {name: tuple(values) for name, values in rows}


def groups(page: Any, attribute: str) -> dict[str, tuple[int, list[str]]]:
    """Counts and names by key of the groups of queries."""
    rows = page.evaluate(
        f"""[...document.querySelectorAll('[data-{attribute}]')].map(group => [group.dataset.{attribute},
            [parseInt(group.querySelector('strong').textContent.replace(',', '')),
             [...group.querySelectorAll('button')].map(button => button.textContent)]])"""
    )
    return {name: (count, names) for name, (count, names) in rows}


def ids(queries: Any) -> tuple[int, list[str]]:
    names = [shorten(name, 60) for name in queries["query_id"]]
    return len(names), names[:NAMED]


def expected_changes(found: Calibration, now: Outcome) -> dict[str, tuple[int, list[str]]]:
    queries = now.queries.assign(had=found.in_sample.queries["hit"], was=found.in_sample.queries["n_accepted"] > 0)
    answerable = queries["answerability"].isin(["answerable", "unknown"]) & ~queries["probe"]
    is_answered, moved = queries["n_accepted"] > 0, queries["had"] != queries["hit"]
    turned = queries["was"] != is_answered
    masks = {
        "lost": answerable & moved & queries["had"],
        "won": answerable & moved & queries["hit"],
        "false": ~answerable & turned & is_answered,
        "refused": ~answerable & turned & ~is_answered,
        "emptied": answerable & ~moved & turned & ~is_answered,
        "filled": answerable & ~moved & turned & is_answered,
    }
    return {name: ids(queries[mask]) for name, mask in masks.items() if mask.any()}


def agrees(page: Any, found: Calibration, floor: float | None, k: int) -> None:
    now = library(found, floor, k)
    shown = shown_rates(page)
    assert shown
    for name, (value, detail) in shown.items():
        rate = now.rates[name]
        assert value == ("–" if rate.value is None else percent(rate.value)), (name, floor, k)
        bounds = "" if rate.value is None else f" [{interval(rate)}]"
        assert detail == out_of(rate) + bounds, (name, floor, k)
    hidden = {name for name, rate in now.rates.items() if rate.denominator} - set(shown)
    assert hidden <= {"recall_macro"}, "every other rate with a denominator is shown"
    assert groups(page, "change") == expected_changes(found, now)
    causes = now.queries.dropna(subset=["cause"])
    listed = {name: group for name, group in groups(page, "cause").items() if name.endswith("miss")}
    assert listed == {str(cause): ids(rows) for cause, rows in causes.groupby("cause")}


def press(page: Any, slider: int, *keys: str) -> None:
    page.locator(".cal-control input[type=range]").nth(slider).focus()
    for key in keys:
        page.keyboard.press(key)


def drag(page: Any, start: float, end: float) -> None:
    """Drag over the bands, in shares of their width."""
    strip = page.locator(".cal-strip")
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    page.mouse.move(box["x"] + start * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], box["y"] + 60)
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 70)
    page.mouse.up()


def typed(page: Any, text: str) -> None:
    page.locator("input[type=number]").fill(text)
    page.keyboard.press("Tab")


def button(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).click()


MOVES = [
    ("as it opens", lambda page: None),
    ("floor Home", lambda page: press(page, 0, "Home")),
    ("floor End", lambda page: press(page, 0, "End")),
    ("back", lambda page: button(page, "Back to the recommendation")),
    ("arrows", lambda page: press(page, 0, *["ArrowRight"] * 7)),
    ("page down", lambda page: press(page, 0, "PageDown", "ArrowLeft")),
    ("K arrows", lambda page: press(page, 1, "ArrowLeft", "ArrowLeft", "ArrowLeft")),
    ("K Home", lambda page: press(page, 1, "Home")),
    ("drag right", lambda page: drag(page, 0.3, 0.55)),
    ("drag left", lambda page: drag(page, 0.8, 0.21)),
    ("K End", lambda page: press(page, 1, "End")),
    ("typed", lambda page: typed(page, "0.4123")),
    ("no floor", lambda page: button(page, "No floor")),
    ("old floor", lambda page: button(page, "Old floor 0.78")),
]


def test_keyboard_and_mouse_show_what_the_library_computes(browser: Any, tmp_path: Path) -> None:
    found = sample()
    page, noted = page_of(browser, tmp_path, found)
    page.locator(".cal-live summary").click()
    seen = []
    for name, move in MOVES:
        move(page)
        floor, k = setting(page)
        agrees(page, found, floor, k)
        seen.append((name, floor, k))
    assert len({(floor, k) for _, floor, k in seen}) >= 10, seen
    by_name = {name: (floor, k) for name, floor, k in seen}
    assert by_name["as it opens"] == by_name["back"] == (found.floor, found.top_k.value)
    assert by_name["floor Home"][0] is by_name["no floor"][0] is None
    assert by_name["drag right"][0] > by_name["drag left"][0]
    assert by_name["K Home"][1] == 1
    assert by_name["typed"] == (0.4123, 10)
    assert by_name["old floor"] == (0.78, 10)
    assert noted == []
    page.context.close()


@pytest.mark.parametrize("inclusive", [True, False])
def test_the_boundary_falls_where_the_contract_puts_it(browser: Any, tmp_path: Path, inclusive: bool) -> None:
    queries = [
        ("q1", "answerable"),
        ("q2", "answerable"),
        ("o", "off_topic"),
        ("m", "missing_answer"),
        ("u", "unknown"),
    ]
    rows = [
        ("q1", "d1", 0.5), ("q1", "x", 0.4), ("q2", "d2", 0.0), ("q2", "y", 0.7), ("o", "d1", 0.49999999),
        ("m", "d1", -0.2), ("u", "d1", 0.1 + 0.2),
    ]  # fmt: skip
    found = made(queries, [("q1", "d1", 1), ("q2", "d2", 1), ("q2", "y", 0)], rows, inclusive=inclusive)
    page, noted = page_of(browser, tmp_path, found)
    page.locator(".cal-live summary").click()
    press(page, 1, "End")
    kept = set()
    for floor in (0.5, 0.500001, 0.5000011, 0.499999, 0.4999989, 0.0, -0.2, 0.3, 0.7, 5.0, -1.0):
        typed(page, repr(floor))
        assert setting(page)[0] == floor
        agrees(page, found, floor, setting(page)[1])
        kept.add(shown_rates(page)["hit_rate"])
    typed(page, "")
    assert setting(page)[0] is None
    agrees(page, found, None, setting(page)[1])
    assert len(kept) == 3, "0, 1 and 2 answers were kept somewhere"
    assert noted == []
    page.context.close()


def test_percentages_are_rounded_as_everywhere_in_the_report(browser: Any, tmp_path: Path) -> None:
    """1, 3, 5 … of 16 are 6.25 %, 18.75 %, 31.25 % …: exact halves, which Python rounds to even."""
    queries = [(f"q{i:02d}", "answerable") for i in range(16)]
    found = made(queries, [(q, "d", 1) for q, _ in queries], [(q, "d", i / 20) for i, (q, _) in enumerate(queries)])
    page, _ = page_of(browser, tmp_path, found)
    page.locator(".cal-live summary").click()
    for i in range(0, 16):
        typed(page, repr(i / 20))
        agrees(page, found, i / 20, found.top_k.value)
    page.context.close()


def wilson(k: int, n: int) -> Rate:
    """scipy's interval as `proportion` takes it, without the p-value, which would take minutes."""
    bounds = BinomTestResult(k=k, n=n, alternative="two-sided", statistic=k / n, pvalue=1.0).proportion_ci(
        0.95, "wilson"
    )
    return Rate(k / n, k, n, float(bounds.low), float(bounds.high))


def test_intervals_are_the_library_s_for_every_count_up_to_300(browser: Any) -> None:
    script = (Path(report.__file__).parent / "templates" / "explorer.js").read_text(encoding="utf-8")
    functions = script[script.index("function wilson(") : script.index("// ---- what a floor and a cap decide")]
    z = explorer_data(three_hits())["z"]
    page = browser.new_page()
    shown = page.evaluate(
        f"""() => {{ {functions}
            const all = [];
            for (let n = 1; n <= 300; n += 1) for (let k = 0; k <= n; k += 1) all.push(interval(k, n, {z!r}));
            return all;
        }}"""
    )
    page.close()
    pairs = [(k, n) for n in range(1, 301) for k in range(n + 1)]
    assert len(shown) == len(pairs) == 45_450
    different = [(k, n, got) for (k, n), got in zip(pairs, shown, strict=True) if got != interval(wilson(k, n))]
    assert wilson(97, 112) == proportion(97, 112)
    assert different == []


@pytest.mark.parametrize("made_by", [three_hits, nothing_relevant, hostile], ids=lambda made_by: made_by.__name__)
def test_small_and_hostile_calibrations_agree_too(browser: Any, tmp_path: Path, made_by: Any) -> None:
    found = made_by()
    page, noted = page_of(browser, tmp_path, found)
    page.locator(".cal-live summary").click()
    if made_by is hostile:
        found = replace(found, in_sample=library(found, found.floor, found.top_k.value))
    for keys in ([], ["Home"], ["PageUp", "PageUp", "PageUp"], ["End"]):
        press(page, 0, *keys)
        agrees(page, found, *setting(page))
    assert noted == []
    page.context.close()


def test_hostile_ids_and_texts_stay_text_wherever_the_script_puts_them(browser: Any, tmp_path: Path) -> None:
    found = hostile()
    page, noted = page_of(browser, tmp_path, found, size=SIZES[0])
    press(page, 0, "End")
    page.locator(".cal-live summary").click()
    for place in range(len(HOSTILE)):
        page.locator(f"[data-query='{place}'] button, [data-change] button").first.click()
        panel = page.locator(".cal-query").inner_text()
        assert "Query" in panel
    links = page.locator("[data-change] button").all_inner_texts()
    assert "<script>alert(1)</script>" in links
    assert "{{ 7 * 7 }}{% raw %}" in links
    assert not set("".join(links)) & set("\x00\x07\u202e\u2066")
    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("document.querySelectorAll('img, iframe, object').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[0][0]
    assert noted == []
    page.context.close()


def test_a_query_leads_from_the_table_to_the_explorer_and_back(browser: Any, tmp_path: Path) -> None:
    found = sample()
    page, noted = page_of(browser, tmp_path, found)
    failing = FailuresDisplay(found).frame()
    name = failing.loc[failing["what"] == "rank miss", "query_id"].iloc[0]
    page.locator("[data-query] button", has_text=name).click()
    panel = page.locator(".cal-query")
    assert panel.evaluate("panel => panel === document.activeElement")
    assert f"Query {name}" in panel.inner_text()
    assert "rank miss" in panel.inner_text()
    assert page.locator("tr.cal-here th").inner_text() == name
    assert page.locator(".cal-strip .cal-selected").count() == 0, "its answer lies beyond K"
    ranks = found.scores.top[(found.scores.top["query_id"] == name) & (found.scores.top["rank"] <= 10)]
    bar = found.scores.contract.lowest_accepted(found.floor)
    states = panel.locator("tbody tr").all_inner_texts()
    assert len(states) == len(ranks)
    accepted = int(((ranks["similarity"] >= bar) & (ranks["rank"] <= found.top_k.value)).sum())
    assert sum("accepted" in row for row in states) == accepted
    page.get_by_role("button", name="Show it among the failing queries").click()
    assert page.evaluate("document.activeElement.textContent") == name
    page.get_by_role("button", name="Close").click()
    assert panel.is_hidden()
    assert page.locator("tr.cal-here").count() == 0
    assert noted == []
    page.context.close()


def test_a_finger_drags_the_line_and_the_page_still_scrolls(browser: Any, tmp_path: Path) -> None:
    found = sample()
    page, noted = page_of(browser, tmp_path, found, size=SIZES[0], has_touch=True, is_mobile=True)
    strip = page.locator(".cal-strip")
    strip.scroll_into_view_if_needed()
    assert strip.evaluate("strip => getComputedStyle(strip).touchAction") == "pan-y"
    box = strip.bounding_box()
    page.touchscreen.tap(box["x"] + 0.7 * box["width"], box["y"] + 60)
    floor, k = setting(page)
    assert floor > 0.5
    page.locator(".cal-live summary").click()
    agrees(page, found, floor, k)
    assert all(
        each["height"] >= 40 for each in (page.locator("input[type=range]").nth(i).bounding_box() for i in (0, 1))
    )
    assert noted == []
    page.context.close()


@pytest.mark.parametrize(("size", "scheme"), [(SIZES[0], "dark"), (SIZES[1], "light")], ids=["390-dark", "1280-light"])
def test_axe_finds_nothing_after_it_was_used(browser: Any, tmp_path: Path, size: tuple[int, int], scheme: str) -> None:
    path = tmp_path / "report.html"
    notebook = executed("# T\n\n## Explorer", ExplorerDisplay(sample()), "## Failures", FailuresDisplay(sample()))
    path.write_text(render_report(notebook, title="T"), encoding="utf-8")
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(path.as_uri())
    typed(page, "0.6")
    page.locator(".cal-live summary").click()
    page.locator("[data-change] button").first.click()
    assert page.locator(".cal-query table").count() == 1
    assert violations(page) == []
    context.close()


def test_a_screen_reader_hears_the_end_of_a_movement(browser: Any, tmp_path: Path) -> None:
    found = sample()
    page, _ = page_of(browser, tmp_path, found)
    said = page.get_by_role("status")
    before = said.inner_text()
    press(page, 0, *["ArrowRight"] * 5)
    assert said.inner_text() == before, "not at every step"
    floor, k = setting(page)
    said.filter(has_text=f"Floor {floor!r}, K = {k}:").wait_for()
    hit = library(found, floor, k).rates["hit_rate"]
    assert f"{out_of(hit)} answerable queries keep a relevant passage" in said.inner_text()
    slider = page.get_by_role("slider", name="Floor")
    assert slider.get_attribute("aria-valuetext") == repr(floor)
    assert page.get_by_role("slider", name="K", exact=True).count() == 1
    assert page.get_by_role("spinbutton", name="Floor, exactly").count() == 1
    page.context.close()


def test_without_scripts_and_on_paper_the_table_says_the_same(browser: Any, tmp_path: Path) -> None:
    found = sample()
    page, noted = page_of(browser, tmp_path, found, java_script_enabled=False)
    section = page.locator(".cal-explorer")
    assert "Sliders for every floor and every K" in section.inner_text()
    still = section.locator(".cal-static table").inner_text()
    assert out_of(found.in_sample.rates["hit_rate"]) in still
    assert section.get_by_role("slider").count() == 0
    page.context.close()
    page, noted = page_of(browser, tmp_path, found)
    assert section.page is not page
    assert page.locator(".cal-static").is_hidden()
    press(page, 0, "End")
    page.emulate_media(media="print")
    assert page.locator(".cal-live").is_hidden()
    assert page.locator(".cal-static table").inner_text() == still, "the recommendation, not what was tried last"
    assert noted == []
    page.context.close()


def test_no_other_script_may_run_in_the_page(browser: Any, tmp_path: Path) -> None:
    """Whoever gets a script into the file afterwards is stopped by its policy."""
    path = tmp_path / "report.html"
    attacked = hostile_page().replace("</main>", "<script>document.title = 'owned'</script></main>")
    path.write_text(attacked.replace("<main ", "<main onfocus=\"document.title = 'owned'\" "), encoding="utf-8")
    page, noted = opened(browser, path)
    page.locator("main").focus()
    assert page.title() != "owned"
    assert page.evaluate("document.scripts.length") == 2
    assert len(noted) == 2
    assert all("Content Security Policy" in note for note in noted)
    page.context.close()


def test_a_foreign_section_with_broken_data_is_left_as_it_is(browser: Any, tmp_path: Path) -> None:
    foreign = '<section class="cal cal-explorer" data-explorer="{&quot;ids&quot;: 3}"><p>still here</p></section>'
    path = tmp_path / "report.html"
    notebook = executed("# T", {"text/html": foreign}, ExplorerDisplay(sample()))
    path.write_text(render_report(notebook, title="T"), encoding="utf-8")
    page, noted = opened(browser, path)
    assert page.get_by_text("still here").is_visible()
    assert page.locator(".cal-moves").count() == 1
    assert noted == []
    page.context.close()
