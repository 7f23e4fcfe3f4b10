"""`calibrate init`: calibration.toml and copies of the notebooks in the user's project."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from . import options as o

TEMPLATE = """# Parameters of `calibrate run`; options on the command line win. Secrets do not belong here: a password
# goes into PGPASSWORD or a Postgres service file, an API key into OPENAI_API_KEY.

@MODELS@

# Labels: a folder with queries, qrels and corpus (BEIR layout, CSV, TSV or JSONL), or single files
# labels = "labels"
# rel_level = 1                     # smallest relevant grade, needed when grades go beyond 0/1

# Your table: read only, nothing in your database is ever changed
@TABLE@

# Probe queries measure the noise; strike what your corpus is about
# exclude_subjects = ["cars"]

preset = "balanced"                 # completeness (a lost answer weighs 10:1), balanced (3:1), refusal (1:3)
off_topic_share = 0.5               # share of off-topic queries in your traffic
# top_k = 5                         # a budget; chosen from labels otherwise
@OLD_FLOOR@

out = "reports/runs/mine"
"""
MODELS = (
    'models = ["minilm"]                 # minilm, multilingual-e5-small, wordllama, "openai:text-embedding-3-small", …'
)
TABLE = """# service = "search"                # a section of pg_service.conf; or dsn = "postgresql://reader@db.internal/app"
# table = "chunks"
# id_column = "id"
# vector_column = "embedding"
# where = "tenant = 'acme'"         # kept on every query, unchanged"""
OLD_FLOOR = "# old_floor = 0.78                  # the floor in use today, shown beside the new one"


def init(
    folder: Annotated[Path, typer.Argument(help="your project")] = Path("."),
    dsn: Annotated[
        str | None, typer.Option("--dsn", help="your database, to recognise its tables; read only", metavar="DSN")
    ] = None,
    service: o.Service = None,
    table: o.TableName = None,
    collection: Annotated[
        str | None, typer.Option("--collection", help="LangChain's collection, by name or id", metavar="NAME")
    ] = None,
    id_column: o.IdColumn = None,
    vector_column: o.VectorColumn = None,
    model: Annotated[str | None, typer.Option("--model", help="model that made the vectors", metavar="NAME")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="never ask; what cannot be seen must be given")] = False,
    force: Annotated[bool, typer.Option("--force", help="overwrite files that are there")] = False,
) -> None:
    """Set up your project for calibration.

    Writes calibration.toml and copies of the notebooks; files that exist are kept unless forced. With --dsn or
    --service it recognises tables of LangChain, LlamaIndex, Haystack and Supabase and plain ones, asks only what it
    cannot see, and runs `doctor`. A password goes into no file.
    """
    from ..errors import ParameterError
    from ..resources import bundled
    from ..result import write_text

    sources = sorted(bundled("notebooks").glob("*.ipynb"))
    targets = [folder / "calibration.toml", *(folder / "notebooks" / source.name for source in sources)]
    there = [str(path) for path in targets if path.exists()]
    if there and not force:
        raise ParameterError(f"already there: {', '.join(there)}. Nothing was written; --force overwrites them.")
    text = _filled(MODELS, TABLE, OLD_FLOOR)
    database = dsn is not None or service is not None
    if database:
        from . import recognised

        given = recognised.Given(dsn, service, table, collection, id_column, vector_column, model)
        text = _filled(*recognised.sections(given, recognised.Asker(yes)))
    elif table is not None or collection is not None:
        raise ParameterError("a table is recognised in a database: give --dsn or --service as well.")
    (folder / "notebooks").mkdir(parents=True, exist_ok=True)
    write_text(targets[0], text)
    for source, target in zip(sources, targets[1:], strict=True):
        shutil.copyfile(source, target)
    for path in targets:
        typer.echo(str(path))
    if database:
        from .doctor import doctor

        doctor(config=targets[0])


def _filled(models: str, table: str, old_floor: str) -> str:
    return TEMPLATE.replace("@MODELS@", models).replace("@TABLE@", table).replace("@OLD_FLOOR@", old_floor)
