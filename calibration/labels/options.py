"""How labels are to be read: the choices a file cannot make for its user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import get_args

from ..errors import ParameterError
from .answerability import kind_table
from .model import Unjudged
from .rows import Answerability

NO_KINDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Options:
    """The user's choices, checked when made.

    Attributes
    ----------
    rel_level : int or None
        relevance >= rel_level is relevant; None is enough for grades 0 and 1 only.
    allow_dangling : bool
        Keep judgements of documents that are not in the corpus.

    Raises
    ------
    ParameterError
        A choice is out of range.
    """

    rel_level: int | None = None
    unjudged: Unjudged = "unknown"
    answerability_by_kind: Mapping[str, str] = field(default_factory=dict)
    allow_dangling: bool = False

    def __post_init__(self) -> None:
        level = self.rel_level
        if level is not None and (isinstance(level, bool) or not isinstance(level, int) or level < 1):
            raise ParameterError(f"rel_level {level!r}: expected a whole number from 1 up; grade 0 is never relevant.")
        if self.unjudged not in get_args(Unjudged):
            raise ParameterError(f"unjudged {self.unjudged!r}: expected one of {', '.join(get_args(Unjudged))}.")
        self.kinds()

    def kinds(self) -> dict[str, Answerability]:
        """Return the table from words of a kind to answerability."""
        return kind_table(self.answerability_by_kind)
