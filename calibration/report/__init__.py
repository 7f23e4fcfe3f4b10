"""One executed notebook as one page to share: self-contained, without scripts, readable everywhere."""

from .html import render_report

__all__ = ["render_report"]
