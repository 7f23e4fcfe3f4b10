"""One executed notebook as one page to share: self-contained, with no script but the explorer, readable everywhere."""

from .html import render_report

__all__ = ["render_report"]
