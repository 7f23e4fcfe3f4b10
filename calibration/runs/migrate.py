"""The page of a migration."""

import shlex
from pathlib import Path
from typing import Any

from ..contract import read_contract
from ..studies.migrate.params import MigrateParams
from ..studies.migrate.source import checked_source, named_files
from ..studies.progress import SILENT, Reporter
from .folder import file_hash
from .page import Page, PageRun, run_page

PAGE = Page(notebook="migrate.ipynb", stem="migration", title="Migrating a search")


def migrate_page(params: MigrateParams, *, force: bool = False, report: Reporter = SILENT) -> PageRun:
    """Study a migration and write migration.html, migration.json and their notebook into `params.out`.

    A database may have changed since the last time, so a study that asks one is always done anew.

    Raises
    ------
    CalibrationError
        See `studies.migrate.study.migrate` and `runs.page.run_page`.
    """
    contents, live = _contents(params)
    values = params.model_dump(mode="json")
    given = params.model_dump(mode="json", exclude_none=True)
    about = {"parameters": given, "command": _command(given)}
    return run_page(PAGE, values, params.out, content=contents, about=about, force=force or live, report=report)


def _contents(params: MigrateParams) -> tuple[list[str], bool]:
    """Hash every file that the study reads, and tell whether it also asks a database."""
    files = [Path(path) for path in (params.old, params.new, params.queries, params.qrels) if path is not None]
    if params.labels is not None:
        files += sorted(path for path in Path(params.labels).rglob("*") if path.is_file())
    live = False
    for name in (params.old, params.new):
        if name is not None:
            file = read_contract(name)
            source = checked_source(file)  # refused here, before a kernel starts
            live = live or source["kind"] == "pgvector"
            files += named_files(file)
    return [file_hash(path) for path in files if path.is_file()], live


def _command(given: dict[str, Any]) -> str:
    words = ["calibrate", "migrate", *(given[name] for name in ("old", "new") if name in given)]
    for name, value in given.items():
        if name not in ("old", "new"):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)
