"""Write docs/reference from the code: `python docs/make_reference.py`; with --check, say what differs and exit 1.

Commands come from the command line itself, parameters from their models, fields from the JSON Schemas, signatures from
the source. Nothing of it is kept by hand but what a field means (reference/fields.toml).
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from reference_pages.commands import commands
from reference_pages.files import files
from reference_pages.parameters import parameters
from reference_pages.python import python

FOLDER = Path(__file__).resolve().parent / "reference"
MADE = "<!-- Written by docs/make_reference.py; change the code, or fields.toml, and run it. -->"


def pages() -> dict[str, str]:
    """Return the text of every page by file name."""
    return {
        "commands.md": _page("Commands", commands()),
        "parameters.md": _page("Parameters", parameters()),
        "python.md": _page("Python", python()),
        "files.md": _page("Files", files()),
    }


def _page(title: str, lines: Iterable[str]) -> str:
    return "\n".join([MADE, "", f"# {title}", "", *lines]).rstrip() + "\n"


def main(check: bool) -> int:
    """Write the pages, or say which differ."""
    differing = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        differing.append(path.name)
        if not check:
            path.write_text(text, encoding="utf-8")
    for name in differing:
        sys.stdout.write(f"{'differs' if check else 'written'}: docs/reference/{name}\n")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
