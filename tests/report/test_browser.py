"""The pages of all notebooks in a real browser: nothing foreign runs, nothing is asked for, nothing is out of reach."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import SCHEMES, SIZES, opened, violations
from pages_made import ATTACKED, PAGES, page

pytestmark = pytest.mark.browser

PHONE, DESKTOP = SIZES
EACH = pytest.mark.parametrize("name", PAGES)
WAYS = pytest.mark.parametrize(
    ("name", "attacked", "size", "scheme"),
    [
        *(pytest.param(name, False, DESKTOP, "light", id=f"{name}-1280-light") for name in PAGES),
        *(pytest.param(name, False, PHONE, "dark", id=f"{name}-390-dark") for name in PAGES),
        *(pytest.param(name, True, PHONE, "dark", id=f"{name}-attacked-390-dark") for name in ATTACKED),
    ],
)
UNFOLD = "document.querySelectorAll('details').forEach(fold => { fold.open = true })"


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Each page as a file, as people open it; written once."""
    folder = tmp_path_factory.mktemp("pages")

    def written(name: str, *, attacked: bool = False) -> Path:
        path = folder / f"{name}{'-attacked' if attacked else ''}.html"
        if not path.exists():
            path.write_text(page(name, attacked=attacked), encoding="utf-8")
        return path

    return written


@WAYS
def test_the_page_is_quiet_and_never_scrolls_sideways(
    browser: Any, page_file: Callable[..., Path], name: str, attacked: bool, size: tuple[int, int], scheme: str
) -> None:
    shown, noted = opened(browser, page_file(name, attacked=attacked), size, scheme)
    shown.evaluate(UNFOLD)
    assert shown.evaluate("document.documentElement.scrollWidth") <= size[0]
    explorers = shown.locator(".cal-moves").count()
    assert explorers == (name == "calibrate"), "the explorer's script ran"
    assert shown.evaluate("document.scripts.length") == explorers, "and there is no other"
    figures = "[...document.querySelectorAll('svg[role=img]')]"
    seen = shown.evaluate(f"{figures}.filter(e => e.getClientRects().length).length")
    assert seen == shown.evaluate(f"{figures}.length") / 2, "one drawing of each figure"
    smallest = shown.evaluate(
        """Math.min(...[...document.querySelectorAll('svg[role=img] text')]
        .filter(e => e.getClientRects().length)
        .map(e => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a))"""
    )
    assert smallest >= 8.5, "pixels of the smallest letters in a figure"
    assert noted == []
    shown.context.close()


@WAYS
def test_axe_finds_nothing(
    browser: Any, page_file: Callable[..., Path], name: str, attacked: bool, size: tuple[int, int], scheme: str
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=True)
    shown = context.new_page()
    shown.goto(page_file(name, attacked=attacked).as_uri())
    shown.evaluate(UNFOLD)
    assert violations(shown) == []
    context.close()


@EACH
def test_rows_are_not_stretched_by_columns_that_are_out_of_view(
    browser: Any, page_file: Callable[..., Path], name: str
) -> None:
    """A squeezed column of text at the far end of a table makes every row as high as the screen of a phone."""
    shown, _ = opened(browser, page_file(name), PHONE)
    shown.evaluate(UNFOLD)
    rows = "[...document.querySelectorAll('.cal-table tbody tr')].filter(row => row.getClientRects().length)"
    assert shown.evaluate(f"{rows}.length") > 0
    assert shown.evaluate(f"Math.max(...{rows}.map(row => row.getBoundingClientRect().height))") < 200
    shown.context.close()


@pytest.mark.parametrize("name", ["calibrate", "compare_models"])
def test_colours_follow_the_scheme(browser: Any, page_file: Callable[..., Path], name: str) -> None:
    colours = []
    for scheme in SCHEMES:
        shown, _ = opened(browser, page_file(name), DESKTOP, scheme)
        text = "getComputedStyle(document.querySelector('.cal-wide svg text')).fill"
        colours.append(shown.evaluate(f"[{text}, getComputedStyle(document.body).backgroundColor]"))
        shown.context.close()
    light, dark = colours
    assert light[0] != dark[0]
    assert light[1] != dark[1]


@EACH
def test_paper_shows_what_is_folded_on_screen(browser: Any, page_file: Callable[..., Path], name: str) -> None:
    shown, _ = opened(browser, page_file(name), (700, 990), "dark")
    shown.emulate_media(media="print")
    tables = "[...document.querySelectorAll('details table')]"
    assert shown.evaluate(f"{tables}.length") > 0
    assert shown.evaluate(f"{tables}.filter(t => t.getBoundingClientRect().height < 10).length") == 0
    figures = "[...document.querySelectorAll('svg[role=img]')].filter(e => e.getBoundingClientRect().height > 50)"
    assert shown.evaluate(f"{figures}.length") == shown.locator("figure.cal-figure").count() > 0
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.evaluate("getComputedStyle(document.querySelector('.cal-table')).color") == "rgb(31, 35, 40)"
    shown.context.close()


@EACH
def test_without_scripts_everything_is_there(browser: Any, page_file: Callable[..., Path], name: str) -> None:
    shown, noted = opened(browser, page_file(name), PHONE, java_script_enabled=False)
    assert shown.locator("h1").is_visible()
    figures = shown.locator("figure.cal-figure")
    assert figures.count() > 0
    for figure in figures.all():
        assert figure.locator("svg[role=img]:visible").count() >= 1
        assert figure.locator("figcaption").inner_text().strip()
    fold = shown.locator("details:has(table)").first
    assert not fold.locator("table").first.is_visible()
    fold.locator("summary").first.click()
    assert fold.locator("table").first.is_visible()
    if name == "calibrate":
        assert shown.locator(".cal-explorer table").first.is_visible(), "the static table stands in for the sliders"
    assert noted == []
    shown.context.close()


def test_the_box_answers_before_anything_is_scrolled(browser: Any, page_file: Callable[..., Path]) -> None:
    """On a desktop: floor, certainty, costs, what to do and when to redo it, in the first screen and a half."""
    shown, _ = opened(browser, page_file("calibrate"), DESKTOP)
    box = shown.locator(".cal-answer")
    assert box.locator("dt").all_inner_texts() == [
        "Floor", "Top-K", "Keeps", "How sure", "Costs", "Do next", "Redo",
    ]  # fmt: skip
    place = box.bounding_box()
    assert place["y"] + place["height"] < 1.5 * DESKTOP[1]
    shown.context.close()


def test_contents_are_beside_a_wide_page_and_one_line_on_a_phone(browser: Any, page_file: Callable[..., Path]) -> None:
    wide, _ = opened(browser, page_file("calibrate"), DESKTOP)
    assert wide.locator(".contents a").first.is_visible()
    wide.context.close()
    phone, _ = opened(browser, page_file("calibrate"), PHONE)
    assert phone.locator(".contents").bounding_box()["height"] < 50
    phone.locator(".contents summary").click()
    phone.locator(".contents a").last.click()
    target = phone.evaluate("document.querySelector(location.hash).getBoundingClientRect().top")
    assert -1 <= target < PHONE[1], "the heading is in view"
    phone.context.close()
