"""Progress on stderr: bars on a terminal, one line a stage elsewhere."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
    """A reporter that names each stage once, in a line: bars of several processes would write over each other."""

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Name the stage."""
        self.note(what if total is None else f"{what}: {total} {unit}")
        yield lambda done: None

    def note(self, text: str) -> None:
        """Write one line."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def elsewhere(self) -> "Lines":
        """Give another one."""
        return self


def _moves() -> bool:
    """Whether what is written can be written over: a terminal, and one that says it can."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
