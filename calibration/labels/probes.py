"""The bundled probe queries: generic questions that measure far noise on any corpus without labels."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..errors import ParameterError
from ..resources import bundled
from .build import rows_of
from .files import read_table
from .rows import Probe
from .tables import PROBES, Findings, fields_of

_COLUMNS = ("query_id", "text", "language", "subject", "kind")


def read_probes(
    path: Path | None = None, *, languages: Sequence[str], exclude_subjects: Sequence[str] = ()
) -> pd.DataFrame:
    """Read the probes of some languages, without the subjects the user's corpus is about.

    Parameters
    ----------
    path : Path, optional
        A file of the user's own; the bundled one by default.
    languages : sequence of str
        Codes such as "en", at least one.
    exclude_subjects : sequence of str
        Subject tags of the file.

    Returns
    -------
    DataFrame
        query_id, text, language, subject, kind, in file order, numbered from 0.

    Raises
    ------
    ParameterError
        The file has no such language or subject, or nothing is left.
    LabelError
        The file is damaged.
    """
    findings = Findings(what="probes")
    raw = read_table(bundled("data") / "probes.jsonl" if path is None else Path(path), PROBES, findings)
    table = fields_of(raw, PROBES, findings, required=_COLUMNS, noun="probes")
    rows = list(rows_of(table, Probe, "query_id", findings).values()) if table is not None else []
    findings.stop_on_problems()
    _check_names("languages", languages, {row.language for row in rows})
    _check_names("exclude_subjects", exclude_subjects, {row.subject for row in rows})
    kept = [row for row in rows if row.language in languages and row.subject not in exclude_subjects]
    if not kept:
        raise ParameterError("no probe is left: name at least one language, and leave some subject in.")
    return pd.DataFrame([tuple(getattr(row, name) for name in _COLUMNS) for row in kept], columns=_COLUMNS, dtype="str")


def _check_names(parameter: str, given: Sequence[str], known: set[str]) -> None:
    if isinstance(given, str):
        raise ParameterError(f"{parameter} {given!r}: expected a list, such as [{given!r}].")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ParameterError(
            f"{parameter}: unknown {', '.join(map(repr, unknown))}; known: {', '.join(sorted(known))}."
        )
