"""Every page of the repository: links and anchors lead somewhere, and every command line in it is one."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import mistune
import pytest
import typer

from calibration.cli import app

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "data", "notebooks", "calibration", "tests")
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("reports/*.md"), *(page for one in FOLDERS for page in (ROOT / one).rglob("*.md"))]
)
WITH_COMMANDS = [page for page in PAGES if page.name.startswith("README") or page.is_relative_to(ROOT / "docs")]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS: Mapping[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
PLACEHOLDERS = {"…", "[OPTIONS]"}

Token = dict[str, Any]


def tokens(page: Path) -> Iterator[Token]:
    parse = mistune.create_markdown(renderer=None, plugins=["table"])
    found, _ = parse.parse(page.read_text(encoding="utf-8"))
    assert isinstance(found, list)
    yield from _walk(found)


def _walk(found: list[Token]) -> Iterator[Token]:
    for token in found:
        yield token
        yield from _walk(token.get("children", []))


def anchors(page: Path) -> set[str]:
    """Names that forges give headings: lower case, no punctuation, hyphens for blanks, numbered when repeated."""
    found: set[str] = set()
    for token in tokens(page):
        if token["type"] == "heading":
            name = re.sub(r"[^\w\- ]", "", _text(token).strip().lower()).replace(" ", "-")
            numbered = (name if number == 0 else f"{name}-{number}" for number in range(99))
            found.add(next(one for one in numbered if one not in found))
    return found


def _text(token: Token) -> str:
    return str(token.get("raw", "")) + "".join(_text(child) for child in token.get("children", []))


def links(page: Path) -> list[str]:
    return [token["attrs"]["url"] for token in tokens(page) if token["type"] in ("link", "image")]


def test_the_pages_are_found() -> None:
    assert {"README.md", "README.pl.md", "docs/tutorial.md", "docs/reference/commands.md"} <= set(NAMES)
    assert len(links(ROOT / "README.md")) > 10


def broken_links(page: Path, root: Path = ROOT) -> list[str]:
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(root):
            broken.append(f"{link}: no such file")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            broken.append(f"{link}: no such heading")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_relative_link_and_anchor_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A *b* `c.d`: e\n\n[x](#a-b-cd-e) [y](#nowhere) [z](gone.md)\n", encoding="utf-8")
    assert anchors(page) == {"a-b-cd-e"}
    assert broken_links(page, tmp_path) == ["#nowhere: no such heading", "gone.md: no such file"]


def lines_of(page: Path) -> list[str]:
    """Command lines of fenced blocks, without comments and environment."""
    found = []
    for token in tokens(page):
        if token["type"] == "block_code" and not token.get("attrs", {}).get("info"):
            for part in re.split(r"\n|&&", token["raw"]):
                command = re.match(r"\s*(?:\.venv/bin/)?(calibrate .*)", part)
                if command:
                    found.append(command[1])
    return found


def spans_of(page: Path) -> list[str]:
    """Commands named in running text."""
    spans = [token["raw"] for token in tokens(page) if token["type"] == "codespan"]
    return [span for span in spans if re.match(r"calibrate [a-z]", span)]


def words_of(line: str) -> list[str]:
    return [word for word in shlex.split(line, comments=True)[1:] if word not in PLACEHOLDERS]


def wrong_commands(page: Path) -> list[str]:
    """Lines of blocks must parse whole, but those of the reference, which are patterns; of spans, names must exist."""
    wrong = []
    for line in lines_of(page):
        name, *arguments = words_of(line)
        if name not in COMMANDS:
            wrong.append(f"{line}: no such command")
        elif page.name != "commands.md":
            try:
                COMMANDS[name].make_context(name, arguments)
            except Exception as error:
                wrong.append(f"{line}: {str(error) or type(error).__name__}")
    for span in spans_of(page):
        name, *arguments = words_of(span)
        given = {word.split("=")[0] for word in arguments if word.startswith("--")}
        known = {option for one in COMMANDS[name].params for option in one.opts} if name in COMMANDS else set()
        if name not in COMMANDS or not given <= known | {"--help"}:
            wrong.append(f"`{span}`: no such command or option")
    return wrong


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=[str(page.relative_to(ROOT)) for page in WITH_COMMANDS])
def test_every_command_line_parses(page: Path) -> None:
    assert wrong_commands(page) == []


def test_command_lines_are_found_and_a_wrong_one_is_seen(tmp_path: Path) -> None:
    assert len(lines_of(ROOT / "README.md")) >= 8
    assert len(spans_of(ROOT / "README.md")) >= 10
    page = tmp_path / "page.md"
    block = "```\n.venv/bin/calibrate run --lables x   # typo\ncalibrate plan --n 5\n```\n"
    page.write_text(f"{block}`calibrate chekc` `calibrate plan`\n", encoding="utf-8")
    blocks, spans = wrong_commands(page)
    assert "--lables" in blocks
    assert "calibrate chekc" in spans
