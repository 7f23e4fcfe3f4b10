"""Progress on stderr: bars for what takes long, one line for what is worth knowing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Bars:
    """A reporter that draws tqdm bars; on a pipe they are left out and the notes stay."""

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Draw one bar while the block runs."""
        from tqdm import tqdm

        quiet = not sys.stderr.isatty()
        with tqdm(total=total, desc=what, unit=f" {unit}", file=sys.stderr, disable=quiet, leave=True) as bar:
            yield lambda done: _advance(bar, done)

    def note(self, text: str) -> None:
        """Write one line."""
        sys.stderr.write(f"{text}\n")


def _advance(bar: object, done: int) -> None:
    bar.update(done)  # type: ignore[attr-defined]
