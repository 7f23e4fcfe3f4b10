"""Progress on stderr: bars on a terminal, one line a stage elsewhere."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 10.0
"""Seconds between two lines about the same stage."""


class Bars:
    """A reporter that draws tqdm bars; in a file, a pipe or a terminal that only appends, it names each stage once."""

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Draw one bar while the block runs."""
        if not _moves():
            with Lines().bar(what, total, unit) as step:
                yield step
            return
        from tqdm import tqdm

        # asked here, since tqdm looks past COLUMNS and draws nothing on a terminal that does not know its size
        size = shutil.get_terminal_size()
        with tqdm(
            total=total, desc=what, unit=f" {unit}", file=sys.stderr, ncols=size.columns - 1, nrows=size.lines
        ) as bar:

            def step(done: int) -> None:
                bar.update(done)

            yield step

    def note(self, text: str) -> None:
        """Write one line, above the bars that are being drawn."""
        if _moves():
            from tqdm import tqdm

            tqdm.write(text, file=sys.stderr)
            sys.stderr.flush()
        else:
            Lines().note(text)

    def elsewhere(self) -> "Lines":
        """Give a reporter for one of several processes that share the terminal."""
        return Lines()


class Lines:
    """A reporter that names each stage in a line: bars of several processes would write over each other.

    A stage that lasts says every ten seconds how far it is, how fast, and how long it will take.
    """

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Name the stage."""
        self.note(what if total is None else f"{what}: {total} {unit}")
        start = said = time.monotonic()
        done = 0

        def step(amount: int) -> None:
            nonlocal done, said
            done += amount
            now = time.monotonic()
            if now - said >= EVERY and done != total:
                said = now
                self.note(_so_far(what, done, total, unit, now - start))

        yield step

    def note(self, text: str) -> None:
        """Write one line."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def elsewhere(self) -> "Lines":
        """Give another one."""
        return self


def _so_far(what: str, done: int, total: int | None, unit: str, seconds: float) -> str:
    """Write a stage's progress, rate and time left.

    Examples
    --------
    >>> _so_far("minilm: embed passages", 1000, 4000, "texts", 10.0)
    'minilm: embed passages: 1000 of 4000 texts, 100.00 texts/s, 00:30 left'
    >>> _so_far("pull", 500, None, "passages", 10.0)
    'pull: 500 passages so far, 50.00 passages/s'
    >>> _so_far("e5", 16, 80, "texts", 32.0)
    'e5: 16 of 80 texts, 2.00s/texts, 02:08 left'
    """
    from tqdm import tqdm

    form = "{desc}: {n_fmt} of {total_fmt}{unit}, {rate_fmt}, {remaining} left"
    if total is None:
        form = "{desc}: {n_fmt}{unit} so far, {rate_fmt}"
    text = tqdm.format_meter(done, total or 0, seconds, prefix=what, unit=f" {unit}", bar_format=form)
    return text.replace("  ", " ").replace("s/ ", "s/")


def _moves() -> bool:
    """Whether what is written can be written over: a terminal, and one that says it can."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
