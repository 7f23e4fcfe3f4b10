"""Finished parts of a long pull, kept until the pull is whole: an interrupted one goes on where it stopped."""

import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..sources.base import Division, Part
from .kept import keep
from .parts import Scoring, Seen

STATE = "state.json"


class PartStore:
    """A folder of parts of one pull.

    Parts are used again only when the source proves that it holds the rows it held then.

    Parameters
    ----------
    folder : Path
        Named by a hash of everything that the pull depends on, the source's content apart.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def found(self, division: Division, scoring: Scoring) -> Iterator[tuple[Part, Seen]]:
        """Yield the parts that are here and still true; forget them all when the source may have changed."""
        if not self._still_true(division):
            self.forget()
            self._folder.mkdir(parents=True)
            self._write(STATE, json.dumps(division.state).encode())
            return
        for part in division.parts:
            seen = self._read(part, scoring)
            if seen is not None:
                yield part, seen

    def keep(self, part: Part, seen: Seen) -> None:
        """Keep a finished part."""
        name = f"{part.number}-{seen.rows}-{int(seen.documents)}.npz"
        keep(self._folder / name, seen.summaries.save)

    def forget(self) -> None:
        """Remove everything."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _still_true(self, division: Division) -> bool:
        try:
            before = json.loads((self._folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(before, dict) and division.unchanged(before)

    def _read(self, part: Part, scoring: Scoring) -> Seen | None:
        for path in self._folder.glob(f"{part.number}-*.npz"):
            with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                _, rows, documents = path.stem.split("-")
                with path.open("rb") as file:
                    return Seen(scoring.start.load(file), int(rows), documents == "1")
            path.unlink(missing_ok=True)  # damaged: it is scored again
        return None

    def _write(self, name: str, content: bytes) -> None:
        keep(self._folder / name, lambda file: file.write(content))
