"""`calibrate clean`: remove cached vectors, kept pulls and the embedded server."""

from typing import Annotated

import typer


def clean(yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False) -> None:
    """Remove the cache folder and the embedded server. Runs and reports stay; nothing of yours is touched."""
    from ..resources import cache_dir
    from ..studies.machine import clean_cache, folder_size

    folder = cache_dir()
    if not yes:
        size = folder_size(folder) / 1e6
        typer.confirm(f"Remove {folder} ({size:.0f} MB: vectors, kept scores) and the embedded server?", abort=True, err=True)
    removed = clean_cache()
    for path in removed:
        typer.echo(f"removed {path}")
    if not removed:
        typer.echo(f"nothing to remove in {folder}")
