"""The pages of every notebook, without a kernel: its prose and its displays, over studies made by hand."""

import ast
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
from deployed import Corpus, study
from made_calibrations import HOSTILE, drawn, hostile, sample, three_hits, two_models
from made_hybrids import of_rows, two_legs
from made_options import codes, measured, queries_of, rows_of, source_of, with_reader
from notebooks_made import executed

from calibration import displays
from calibration.displays import Display
from calibration.report import render_report
from calibration.resources import bundled
from calibration.result import save
from calibration.studies.check.runs import RunsCompared, compare_runs
from calibration.studies.compare import carry_over
from calibration.studies.hybrid.study import Hybrid
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import Migration, migrate
from calibration.studies.options.study import Options

NAMES = HOSTILE[:5] + HOSTILE[6:]
"""Without the null byte where a text file carries the names: there it ends a field, which is the reader's matter."""


def page_of(notebook: str, **studies: Any) -> str:
    """Render a notebook: what its cells would show if these were the studies that they made."""
    cells: list[str | Display | dict[str, Any]] = []
    scope = {name: getattr(displays, name) for name in displays.__all__}
    scope |= studies | {"displays": displays, "display": lambda *shown: cells.extend(shown)}
    for cell in nbformat.read(bundled("notebooks") / f"{notebook}.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            cells.append(cell.source)
            continue
        last = ast.parse(cell.source).body[-1]
        if isinstance(last, ast.Expr):
            shown = eval(ast.unparse(last), scope)  # noqa: S307 - a line of our own notebook
            cells += [] if shown is None else [shown]
    return render_report(executed(*cells), title=notebook)


def _runs(old: Any, new: Any) -> RunsCompared:
    with tempfile.TemporaryDirectory() as folder:
        save(old, Path(folder) / "old")
        save(new, Path(folder) / "new")
        return compare_runs(f"{folder}/old", f"{folder}/new")


def _hostile_hybrid() -> Hybrid:
    rng = np.random.default_rng(5)
    rows = [
        (f"{side} {name}", f"{doc} {name}", base + 0.2 * rng.random(), base + 0.2 * rng.random(), grade, name, side)
        for side, base, grade in (("answerable", 0.6, 1), ("off_topic", 0.1, None))
        for name in NAMES
        for doc in ("first", "second")
    ]
    columns = ["query_id", "doc_id", "similarity", "lexical", "relevance", "kind", "answerability"]
    frame = pd.DataFrame(rows, columns=columns).astype({"relevance": "Int64"})
    return of_rows(frame, "similarity=cosine_similarity,lexical=score")


def _hostile_options() -> Options:
    rng = np.random.default_rng(6)
    ids = [f"{name} {i}" for i in range(5) for name in HOSTILE]
    half = len(ids) // 2
    near = [
        row
        for i, query in enumerate(ids)
        for row in rows_of(query, 0.7 + 0.1 * rng.random(), 0.3, rng, answer=0 if i < half else None)
    ]
    kinds = [(q, HOSTILE[i % len(HOSTILE)], "answerable" if i < half else "off_topic") for i, q in enumerate(ids)]
    source = source_of(near, [(q, "d0", 0.1) for q in ids[:half]], queries_of(kinds))
    return measured(source, with_reader(source, dict.fromkeys(ids[:half], 0.8)), HOSTILE[0], top_k=3)


def _hostile_migration() -> Migration:
    with tempfile.TemporaryDirectory() as folder:
        cosines = np.linspace(0.95, 0.5, len(NAMES))
        vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
        corpus = Corpus(Path(folder), None, list(NAMES), vectors, [[1, 0]] * len(NAMES))
        np.savez(corpus.queries_file, query_ids=np.array(NAMES), query_vectors=corpus.queries)
        version = {"embedding_version": NAMES[0]}
        old = corpus.contract("numpy cosine_similarity", 0.8, name="old", **version)
        return study(corpus, old, corpus.contract("numpy squared_l2", 0.8, name="new", **version))


PAGES: dict[str, Callable[[], str]] = {
    "calibrate": lambda: page_of("calibrate", study=sample()),
    "compare_models": lambda: page_of("compare_models", comparison=carry_over(two_models())),
    "compare_runs": lambda: page_of("compare_runs", compared=_runs(sample(), drawn(n_probes=60, shift=-0.1))),
    "options": lambda: page_of("options", study=codes()),
    "hybrid": lambda: page_of("hybrid", study=two_legs()),
    "migrate": lambda: page_of("migrate", study=migrate(MigrateParams())),
}
ATTACKED: dict[str, Callable[[], str]] = {
    "calibrate": lambda: page_of("calibrate", study=hostile()),
    "compare_models": lambda: page_of("compare_models", comparison=carry_over((hostile(), three_hits()))),
    "compare_runs": lambda: page_of(
        "compare_runs", compared=_runs(hostile(), replace(hostile(), name="</script>" + HOSTILE[6]))
    ),
    "options": lambda: page_of("options", study=_hostile_options()),
    "hybrid": lambda: page_of("hybrid", study=_hostile_hybrid()),
    "migrate": lambda: page_of("migrate", study=_hostile_migration()),
}


@cache
def page(name: str, *, attacked: bool = False) -> str:
    """One page as HTML, made once."""
    return (ATTACKED if attacked else PAGES)[name]()
