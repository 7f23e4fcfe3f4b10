"""What a reader must know before acting on the floor."""

import pandas as pd

from ..studies.model import Calibration
from .base import Display, style
from .tables import templates
from .texts import counted, shorten

WORD = 80
"""Longest word shown."""


class CaveatsDisplay(Display):
    """The caveats of the run, the most important first."""

    title = "What these labels cannot tell"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per caveat."""
        return pd.DataFrame(
            {"caveat": pd.Series([_sentence(_readable(text)) for text in self.calibration.caveats], dtype="str")}
        )

    @property
    def caption(self) -> str:
        """How many there are, and the first."""
        found = self.frame()["caveat"].tolist()
        return "No caveats." if not found else f"{counted(len(found), 'caveat')}. {found[0]}"

    def _repr_html_(self) -> str:
        return templates().get_template("caveats.html").render(style=style(), caveats=self.frame()["caveat"].tolist())


def _readable(text: str) -> str:
    """Cut foreign words too, since one of a thousand letters buries the other caveats."""
    return " ".join(shorten(word, WORD) for word in shorten(text, 1000).split(" "))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else text + "."
