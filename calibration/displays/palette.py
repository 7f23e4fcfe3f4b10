"""The colours of every figure and of the page, once: told apart by colour-blind readers, readable on light and dark."""

import re

PALETTE: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#1b1e22"),
    "ink": ("#1f2328", "#e8eaed"),
    "muted": ("#59636e", "#a7b0ba"),
    "line": ("#d5dae0", "#3b424b"),
    "relevant": ("#0068a8", "#6cb8f0"),
    "far": ("#b5460f", "#f2916a"),
    "near": ("#8a6300", "#e0b040"),
    "missing": ("#8a3f86", "#d9a0d6"),
    "unjudged": ("#4f6b63", "#9dbdb3"),
    "gap": ("#0b7a5c", "#3fbf97"),
    "backdrop": ("#b3bbc4", "#5a636e"),
}
"""Name to hex colour on light and on dark. Meaning never hangs on colour alone: every mark has a label beside it."""

COLOUR = {name: light for name, (light, _) in PALETTE.items()}
_BY_HEX = {light: name for name, light in COLOUR.items()}
_HEX = re.compile(r"#[0-9a-f]{6}")


def css_variables(*, dark: bool) -> str:
    """Declare the palette as CSS custom properties.

    Examples
    --------
    >>> css_variables(dark=False).split(";")[0]
    '--cal-paper: #ffffff'
    """
    return "; ".join(f"--cal-{name}: {pair[dark]}" for name, pair in PALETTE.items()) + ";"


def with_variables(style: str) -> str:
    """Let a style follow the page's colours, with the light one where a page declares none.

    Examples
    --------
    >>> with_variables("fill: #0068a8; stroke: #123456")
    'fill: var(--cal-relevant, #0068a8); stroke: #123456'
    """

    def replace(found: re.Match[str]) -> str:
        name = _BY_HEX.get(found[0])
        return found[0] if name is None else f"var(--cal-{name}, {found[0]})"

    return _HEX.sub(replace, style)
