"""Files of the cache that appear whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO


def keep(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file beside the target, then put it in place in one step; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            write(file)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
