"""The browser that several tests of the page share."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import FLAGS

sys.path.append(str(Path(__file__).parents[1] / "displays"))
"""Where the made calibrations are."""


def missing(reason: str) -> None:
    """Skip, but never where a browser was promised."""
    if os.environ.get("CALIBRATION_REQUIRE_BROWSER") == "1":
        pytest.fail(f"CALIBRATION_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"NOT TESTED in a browser: {reason}")


@pytest.fixture(scope="session")
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
