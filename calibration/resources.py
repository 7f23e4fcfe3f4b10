"""Where the bundled notebooks and data lie, in a clone and in an installed wheel, and where the user's cache is."""

import os
from pathlib import Path

import platformdirs

_PACKAGE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """Path of a bundled folder, "notebooks" or "data".

    Examples
    --------
    >>> bundled("data").name
    'data'
    """
    for root in (_PACKAGE / "bundled", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"the bundled folder {name!r} is missing from this installation")


def cache_dir() -> Path:
    """Folder of cached vectors and of the embedded server; CALIBRATION_CACHE overrides it. Not created here."""
    override = os.environ.get("CALIBRATION_CACHE")
    return Path(override) if override else Path(platformdirs.user_cache_dir("retrieval-calibration", appauthor=False))
