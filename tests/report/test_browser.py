"""The page in a real browser: nothing runs, nothing is asked for, nothing is out of reach."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from notebooks_made import drawn_page, hostile_page

pytestmark = pytest.mark.browser

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SIZES = [(390, 844), (1280, 900)]
SCHEMES = ["light", "dark"]


def missing(reason: str) -> None:
    """Skip, but never where a browser was promised."""
    if os.environ.get("CALIBRATION_REQUIRE_BROWSER") == "1":
        pytest.fail(f"CALIBRATION_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"NOT TESTED in a browser: {reason}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium: CHROMIUM, or the one on the path."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing("there is no Chromium; install it or set CHROMIUM to its path")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing(str(error))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(params=[drawn_page, hostile_page], ids=lambda page: page.__name__)
def page_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A report as a file, as people open it."""
    path = tmp_path / "report.html"
    path.write_text(request.param(), encoding="utf-8")
    return path


def opened(browser: Any, path: Path, size: tuple[int, int], scheme: str) -> tuple[Any, list[str]]:
    """Open a file; the second value fills with everything the page must not do."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=False, java_script_enabled=True
    )
    page = context.new_page()
    noted: list[str] = []
    own = path.as_uri()
    page.on("console", lambda message: noted.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: noted.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (noted.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: noted.append(f"request: {request.url}") if request.url != own else None)
    page.goto(own)
    return page, noted


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_the_page_is_quiet_and_never_scrolls_sideways(
    browser: Any, page_file: Path, size: tuple[int, int], scheme: str
) -> None:
    page, noted = opened(browser, page_file, size, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate("document.scripts.length") == 0
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
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    found = Axe().run(page).response["violations"]
    assert [(item["id"], [node["html"][:120] for node in item["nodes"][:3]]) for item in found] == []
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
