"""What leaves the page before it is shared: everything that runs, loads or breaks its outline."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

RUNS = (
    "script", "iframe", "frame", "object", "embed", "applet", "link", "meta", "base", "form", "style", "noscript",
    "template", "audio", "video",
)  # fmt: skip
ACTS = ("srcdoc", "srcset", "action", "formaction", "ping", "background", "poster", "target")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINKS = ("href", "xlink:href")
_SAFE_LINK = re.compile(r"\s*(#|https?://|mailto:)", re.IGNORECASE)
_SAFE_IMAGE = re.compile(r"\s*data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)
_FOREIGN_URL = re.compile(r"url\(\s*(?!['\"]?#)[^)]*\)|@import|expression\(", re.IGNORECASE)


def cleaned(body: str, *, title: str) -> tuple[str, list[dict[str, str]]]:
    """Clean the body of a page and give it an outline.

    Returns
    -------
    body, contents
        HTML with exactly one h1 and no level skipped; id and text of its second-level headings.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(body, "html.parser")
    _drop_comments(soup)
    for tag in soup.find_all(RUNS):
        tag.decompose()
    for tag in soup.find_all(True):
        _clean_attributes(tag)
    _outline(soup, title)
    _name_images(soup)
    contents = [{"id": str(tag["id"]), "text": tag.get_text(" ", strip=True)} for tag in soup.find_all("h2")]
    return str(soup), contents


def _drop_comments(soup: "BeautifulSoup") -> None:
    from bs4.element import PreformattedString

    # comments, CDATA, doctypes and processing instructions; texts are plain strings
    for string in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        string.extract()


def _clean_attributes(tag: "Tag") -> None:
    for name in list(tag.attrs):
        found = tag[name]
        if _acts(name, found if isinstance(found, str) else " ".join(found)):
            del tag[name]
    if tag.name == "a" and str(tag.get("href", "")).startswith("http"):
        tag["rel"] = "noopener noreferrer"
    if tag.name in ("image", "use", "feimage") and not str(tag.get("xlink:href", tag.get("href", "#"))).startswith("#"):
        tag.decompose()


def _acts(name: str, value: str) -> bool:
    """Tell whether an attribute runs, loads or leads somewhere it should not."""
    return (
        name.startswith("on")
        or name in ACTS
        or (name in _LINKS and not _SAFE_LINK.match(value))
        or (name == "src" and not _SAFE_IMAGE.match(value))
        or (name == "style" and _FOREIGN_URL.search(value) is not None)
    )


def _outline(soup: "BeautifulSoup", title: str) -> None:
    """Keep one h1, never skip a level, and give every heading an id of its own."""
    if soup.find("h1") is None:
        heading = soup.new_tag("h1")
        heading.string = title
        soup.insert(0, heading)
    previous, seen_first = 1, False
    used: set[str] = set()
    for tag in soup.find_all(HEADINGS):
        level = int(tag.name[1])
        if level == 1 and seen_first:
            level = 2
        if not seen_first:
            level = 1 if level == 1 else 2
        level = min(level, previous + 1)
        seen_first = seen_first or level == 1
        previous = level
        tag.name = f"h{level}"
        tag["id"] = _unused(tag.get_text(" ", strip=True), used)


def _unused(text: str, used: set[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "section"
    name, number = stem, 2
    while name in used or name == "content":
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name


def _name_images(soup: "BeautifulSoup") -> None:
    image: Any
    for image in soup.find_all("img"):
        if not image.get("src"):
            image.decompose()
        elif not image.get("alt"):
            image["alt"] = "A figure without a description"
