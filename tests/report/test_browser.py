"""The page in a real browser: nothing foreign runs, nothing is asked for, nothing is out of reach."""

from pathlib import Path
from typing import Any

import pytest
from browsing import SCHEMES, SIZES, opened, violations
from notebooks_made import drawn_page, hostile_page

pytestmark = pytest.mark.browser


@pytest.fixture(params=[drawn_page, hostile_page], ids=lambda page: page.__name__)
def page_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A report as a file, as people open it."""
    path = tmp_path / "report.html"
    path.write_text(request.param(), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_the_page_is_quiet_and_never_scrolls_sideways(
    browser: Any, page_file: Path, size: tuple[int, int], scheme: str
) -> None:
    page, noted = opened(browser, page_file, size, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate("document.scripts.length") == 1, "the explorer's, and it ran"
    assert page.locator(".cal-moves").count() == 1
    shown = "svg[role=img]"
    visible = page.evaluate(f"[...document.querySelectorAll('{shown}')].filter(e => e.getClientRects().length).length")
    assert visible == page.evaluate(f"document.querySelectorAll('{shown}').length") / 2, "one drawing of each figure"
    smallest = page.evaluate(
        """Math.min(...[...document.querySelectorAll('svg[role=img] text')]
        .filter(e => e.getClientRects().length)
        .map(e => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a))"""
    )
    assert smallest >= 8.5, "pixels of the smallest letters in a figure"
    assert noted == []
    page.context.close()


@pytest.mark.parametrize(("size", "scheme"), [(SIZES[0], "dark"), (SIZES[1], "light")], ids=["390-dark", "1280-light"])
def test_axe_finds_nothing(browser: Any, page_file: Path, size: tuple[int, int], scheme: str) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    assert violations(page) == []
    context.close()


def test_figures_follow_the_colour_scheme(browser: Any, page_file: Path) -> None:
    colours = []
    for scheme in SCHEMES:
        page, _ = opened(browser, page_file, SIZES[1], scheme)
        text = "document.querySelector('.cal-wide svg text')"
        colours.append(
            page.evaluate(f"getComputedStyle({text}).fill + getComputedStyle(document.body).backgroundColor")
        )
        page.context.close()
    assert colours[0] != colours[1]


def test_paper_shows_what_is_folded_on_screen(browser: Any, page_file: Path) -> None:
    page, _ = opened(browser, page_file, (700, 990), "dark")
    page.emulate_media(media="print")
    tables = "[...document.querySelectorAll('details table')]"
    assert page.evaluate(f"{tables}.length") > 0
    assert page.evaluate(f"{tables}.filter(t => t.getBoundingClientRect().height < 10).length") == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.cal-table')).color") == "rgb(31, 35, 40)"
    page.context.close()
