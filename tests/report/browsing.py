"""Opening a report as people do, and noting everything that it must not do."""

from pathlib import Path
from typing import Any

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SIZES = [(390, 844), (1280, 900)]
SCHEMES = ["light", "dark"]


def opened(
    browser: Any, path: Path, size: tuple[int, int] = SIZES[1], scheme: str = "light", **settings: Any
) -> tuple[Any, list[str]]:
    """Open a file; the second value fills with everything the page must not do."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=False, **settings
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


def violations(page: Any) -> list[Any]:
    """What axe finds; its context must bypass the policy."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(item["id"], [node["html"][:120] for node in item["nodes"][:3]]) for item in found]
