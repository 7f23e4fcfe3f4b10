"""Progress on stderr: bars on a terminal, one line a stage elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Bars:
    """A reporter that draws tqdm bars; on a pipe, where bars are noise, it names each stage once."""

    @contextmanager
    def bar(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        """Draw one bar while the block runs."""
        if not sys.stderr.isatty():
            self.note(what if total is None else f"{what}: {total} {unit}")
            yield lambda done: None
            return
        from tqdm import tqdm

        with tqdm(total=total, desc=what, unit=f" {unit}", file=sys.stderr, leave=True) as bar:

            def step(done: int) -> None:
                bar.update(done)

            yield step

    def note(self, text: str) -> None:
        """Write one line."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
