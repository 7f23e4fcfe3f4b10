"""`calibrate clean`: remove cached vectors, kept pulls and the embedded server."""

from typing import Annotated

import typer


def clean(yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False) -> None:
    """Remove cached vectors, kept scores and the embedded server.

    Runs and reports stay, and so does everything in the cache folder that `calibrate` did not put there.
    """
    from ..resources import cache_dir
    from ..studies.machine import cached, clean_cache, folder_size

    found = cached()
    if not found:
        typer.echo(f"nothing to remove in {cache_dir()}")
        return
    if not yes:
        size = sum(folder_size(path) for path in found) / 1e6
        typer.confirm(f"Remove {', '.join(map(str, found))} ({size:.0f} MB)?", abort=True, err=True)
    for path in clean_cache():
        typer.echo(f"removed {path}")
