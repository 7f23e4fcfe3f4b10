"""Secrets taken out of what a notebook shows: the values of some environment variables, and passwords in addresses."""

import html
import json
import os
import re
from collections.abc import Callable
from typing import Any

import nbformat

SECRETS = ("PGPASSWORD", "OPENAI_API_KEY", "CALIBRATION_DSN")
"""Environment variables whose values must never stand in a file or a message."""
HIDDEN = "***"
_SHORTEST = 4
_IN_ADDRESS = re.compile(r"(\b\w+://[^:/@\s\"']+:)[^@\s\"'/]+@")
_TEXTS = ("text", "data", "evalue", "traceback")


def without_secrets(text: str) -> str:
    """Replace secrets by ***, as they are and as Python, JSON and HTML write them.

    Examples
    --------
    >>> without_secrets("postgresql://u:S3cretPw@h/db")
    'postgresql://u:***@h/db'
    """
    for name in SECRETS:
        secret = os.environ.get(name, "")
        if len(secret) >= _SHORTEST:
            for written in _ways_to_write(secret):
                text = text.replace(written, HIDDEN)
    return _IN_ADDRESS.sub(rf"\1{HIDDEN}@", text)


def _ways_to_write(secret: str) -> list[str]:
    """List what a secret looks like inside other texts, the longest first, since one may hold another."""
    written = {secret, repr(secret)[1:-1], repr(secret + "\"'")[1:-4]}
    written |= {json.dumps(text)[1:-1] for text in written}
    written |= {html.escape(text) for text in written}
    return sorted(written, key=len, reverse=True)


def change_texts(notebook: nbformat.NotebookNode, change: Callable[[str], str]) -> None:
    """Change every text a reader can see, in place; keys and types stay, whatever a secret is called."""
    for cell in notebook.cells:
        cell.source = change(cell.source)
        for output in cell.get("outputs", []):
            for name in _TEXTS:
                if name in output:
                    output[name] = _changed(output[name], change)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_changed(item, change) for item in value]
    if isinstance(value, dict):
        return type(value)({key: _changed(item, change) for key, item in value.items()})
    return value
