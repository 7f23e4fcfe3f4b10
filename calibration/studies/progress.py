"""How a long study tells of its progress, without knowing what a terminal is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Reporter(Protocol):
    """Somebody who wants to know: the command draws bars, a notebook stays silent."""

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Show a bar; the function it gives is called with the amount just done."""
        ...

    def note(self, text: str) -> None:
        """Say one line."""
        ...

    def elsewhere(self) -> "Reporter":
        """Give one for another process, which shares the place where it is told with others."""
        ...


class Silent:
    """Tells nobody."""

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Show nothing."""
        yield lambda done: None

    def note(self, text: str) -> None:
        """Say nothing."""

    def elsewhere(self) -> Reporter:
        """Say nothing there either."""
        return self


SILENT = Silent()
