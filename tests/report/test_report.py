"""The page people share: complete, harmless, with one outline."""

import base64
import hashlib
import re
from itertools import pairwise

import nbformat
import pytest
from bs4 import BeautifulSoup
from notebooks_made import drawn_page, executed, hostile_page, sample
from pages_made import ATTACKED, page

from calibration.displays import AnswerDisplay, BandsDisplay, GapDisplay
from calibration.errors import NotebookError
from calibration.report import render_report
from calibration.report.clean import cleaned
from calibration.report.html import TEMPLATES

OURS = (TEMPLATES / "explorer.js").read_text(encoding="utf-8")
HTML = {"text/html": "<p>kept</p>", "text/plain": "plain"}


def page_of(*cells: object, title: str = "A report") -> BeautifulSoup:
    return BeautifulSoup(render_report(executed(*cells), title=title), "html.parser")


def test_a_failed_notebook_is_never_a_report() -> None:
    notebook = executed("# Title", HTML)
    notebook.cells[1].outputs.append(
        nbformat.v4.new_output("error", ename="StoreError", evalue="no table", traceback=[])
    )
    with pytest.raises(NotebookError, match=r"StoreError: no table"):
        render_report(notebook, title="x")


def test_a_notebook_that_never_ran_is_refused() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    with pytest.raises(NotebookError, match="run it first"):
        render_report(notebook, title="x")


def test_code_and_streams_are_left_out_and_the_notebook_is_not_touched() -> None:
    notebook = executed(HTML, source="password = 'S3cretPw'")
    notebook.cells[0].outputs.append(nbformat.v4.new_output("stream", name="stderr", text="Kernel warning"))
    before = nbformat.writes(notebook)
    page = render_report(notebook, title="x")
    assert "kept" in page
    assert "S3cretPw" not in page
    assert "Kernel warning" not in page
    assert "plain" not in BeautifulSoup(page, "html.parser").find("main").get_text(), "the richest output only"
    assert nbformat.writes(notebook) == before


def test_other_outputs_have_their_place() -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    notebook = executed(
        {"image/png": pixel}, {"text/plain": "<b>17</b>"}, {"text/markdown": "*said*"}, {"application/javascript": "x"}
    )
    notebook.cells[0].outputs[0].metadata = {"image/png": {"alt": "A red dot"}}
    page = BeautifulSoup(render_report(notebook, title="x"), "html.parser")
    assert page.find("img")["alt"] == "A red dot"
    assert page.find("pre").get_text(strip=True) == "<b>17</b>"
    assert page.find("em").get_text() == "said"
    assert page.find("script") is None


def test_title_and_language_are_stated_and_escaped() -> None:
    page = render_report(executed(HTML), title="</title><script>alert(1)</script>", language="de")
    parsed = BeautifulSoup(page, "html.parser")
    assert parsed.html["lang"] == "de"
    assert parsed.title.get_text() == "</title><script>alert(1)</script>"
    assert parsed.find("script") is None
    assert parsed.find("h1").get_text() == "</title><script>alert(1)</script>", (
        "without a heading the title is the heading"
    )


def test_the_outline_has_one_h1_and_skips_no_level() -> None:
    page = page_of("### Deep first", HTML, "# One", "# Two", "#### Four", "## Two", HTML)
    levels = [int(tag.name[1]) for tag in page.find_all(re.compile("^h[1-6]$"))]
    assert levels.count(1) == 1
    assert levels[0] in (1, 2)
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_contents_lead_to_headings() -> None:
    page = page_of("# T", "## One", HTML, "## Two", HTML, "## Two", HTML)
    targets = [link["href"] for link in page.select("nav a")]
    assert targets == ["#one", "#two", "#two-2"]
    assert all(page.find(id=target[1:]) for target in targets)
    assert page.select_one("a.skip")["href"] == "#content"
    assert page.find("main")["id"] == "content"


def test_c92_nothing_is_loaded_from_anywhere() -> None:
    source = drawn_page()
    page = BeautifulSoup(source, "html.parser")
    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    (script,) = page.find_all("script")
    named = base64.b64encode(hashlib.sha256(script.string.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{named}'"
    assert script.attrs == {}
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|fetch|import", script.string
    )
    assert page.find(["link", "iframe", "object", "embed", "base"]) is None
    assert [tag["src"] for tag in page.find_all(src=True) if not tag["src"].startswith("data:")] == []
    assert [tag for tag in page.find_all(href=True) if tag.name != "a" and not tag["href"].startswith("#")] == []
    assert "@import" not in source
    assert re.findall(r"url\((?!#)", source) == []


def test_a_page_without_an_explorer_has_no_script_and_allows_none() -> None:
    said = '<p>A text that names &lt;section class="cal cal-explorer"&gt; is none.</p>'
    page = page_of("# T", HTML, {"text/html": said}, {"text/html": "<script>alert(1)</script>"})
    assert page.find("script") is None
    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_everything_fits_the_budget_and_is_the_same_twice() -> None:
    assert len(drawn_page().encode()) < 1_500_000
    pages = {render_report(executed(BandsDisplay(sample()), GapDisplay(sample())), title="x") for _ in range(2)}
    assert len(pages) == 1


def test_hostile_text_stays_text() -> None:
    source = hostile_page()
    page = BeautifulSoup(source, "html.parser")
    assert page.find(["iframe", "img", "object"]) is None
    assert [script.string for script in page.find_all("script")] == [OURS]
    assert not [name for tag in page.find_all(True) for name in tag.attrs if name.startswith("on")]
    assert [
        link["href"] for link in page.find_all("a") if not link["href"].startswith(("#", "https://example.org"))
    ] == []
    text = page.get_text()
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "$x$" in text
    assert not set(text) & set("\x00\x07\u202e\u2066")
    assert "S3cretPw" not in source


@pytest.mark.parametrize("name", ATTACKED)
def test_hostile_names_stay_text_on_every_page(name: str) -> None:
    shown = BeautifulSoup(page(name, attacked=True), "html.parser")
    assert shown.find(["iframe", "img", "object", "base", "form"]) is None
    assert [script.string for script in shown.find_all("script")] == ([OURS] if name == "calibrate" else [])
    assert not [attribute for tag in shown.find_all(True) for attribute in tag.attrs if attribute.startswith("on")]
    text = shown.get_text()
    assert "alert(" in text, "the attack is there to be read"
    assert not set(text) & set("\x00\x07\u202e\u2066")
    assert max(len(word) for word in text.split()) < 2_000, "a word of 100 kB is cut"


def test_a_page_that_is_passed_on_says_what_it_compares() -> None:
    shown = BeautifulSoup(page("compare_runs"), "html.parser")
    first = shown.find("table")
    assert first.caption.get_text() == "The two runs"
    rows = [[cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])] for row in first.select("tbody tr")]
    assert [row[:2] for row in rows] == [["before", "minilm 2026-11-30"], ["now", "minilm 2026-11-30"]]
    assert float(rows[0][2]) == pytest.approx(float(rows[1][2]) + 0.1)


def test_each_verdict_gives_its_numbers_and_folds_its_arguments() -> None:
    box = BeautifulSoup(page("options"), "html.parser").select_one(".cal-answer")
    assert len(box.select(".cal-status")) == 4
    assert [fold.summary.get_text() for fold in box.select("details")] == [
        "More on lost answers", "More on false answers", "More on context cost", "More on upkeep",
    ]  # fmt: skip
    said = [p.get_text() for p in box.find_all("p", class_=False, recursive=False)]
    assert len(said) == 4
    assert "hybrid 48 of 48" in said[0]
    assert all(text.endswith(".") for text in said)


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<svg><script>alert(1)</script></svg>",
        "<p onclick='alert(1)'>x</p>",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href=' \tJaVaScript:alert(1)'>x</a>",
        "<svg><a xlink:href='javascript:alert(1)'>x</a></svg>",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<form action='https://evil.example'><input></form>",
        "<img src='https://evil.example/x.png'>",
        "<img src='data:image/svg+xml;base64,AAAA'>",
        "<svg><image href='https://evil.example/x.png'/></svg>",
        "<svg><use href='https://evil.example/x.svg#a'/></svg>",
        "<p style='background: url(https://evil.example)'>x</p>",
        "<link rel='stylesheet' href='https://evil.example/x.css'>",
        "<style>@import 'https://evil.example'</style>",
        "<meta http-equiv='refresh' content='0; url=https://evil.example'>",
        "<base href='https://evil.example'>",
        "<object data='https://evil.example'></object>",
        "<!-- <script>alert(1)</script> -->",
        "<video poster='https://evil.example'></video>",
    ],
)
def test_what_runs_or_loads_is_removed(attack: str) -> None:
    body, _ = cleaned(f"<h1>T</h1><p>before</p>{attack}<p>after</p>", title="T")
    assert "alert" not in body
    assert "evil.example" not in body
    assert "image/svg+xml" not in body
    assert "before" in body
    assert "after" in body


def test_what_a_display_needs_survives() -> None:
    html = AnswerDisplay(sample())._repr_html_()
    body, _ = cleaned(html, title="T")
    assert BeautifulSoup(body, "html.parser").select_one("dl.cal-deploy dd").get_text() == repr(sample().floor)
    assert "fill: var(--cal-ink, #1f2328)" in cleaned("<svg style='fill: var(--cal-ink, #1f2328)'></svg>", title="T")[0]
    assert 'clip-path="url(#a)"' in cleaned('<svg clip-path="url(#a)"></svg>', title="T")[0]
