"""Files -> raw tables: CSV and TSV (any of comma, semicolon, tab), JSONL, parquet."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

from .cells import shown
from .decode import decode
from .tables import Findings, Names, Table, enumerated, known_columns

SUFFIXES = (".jsonl", ".ndjson", ".tsv", ".tab", ".csv", ".parquet")
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_EXPECTED = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def read_table(path: Path, names: Names, findings: Findings, *, label: str = "") -> Table | None:
    """Read a file into raw cells; None, with every problem said by line, when it cannot be read.

    Parameters
    ----------
    path : Path
        Its suffix names the format, one of `SUFFIXES`.
    names : Names
        Decides which delimiter makes sense of the header, and which columns of a parquet file are loaded.
    label : str
        What messages call the file; its name when empty.
    """
    name = label or path.name
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        findings.problems.append(f"{name}: unknown kind of file {suffix!r}; expected one of {', '.join(SUFFIXES)}")
        return None
    if not path.is_file():
        findings.problems.append(f"{name}: no such file ({path})")
        return None
    found: list[str] = []
    try:
        if suffix == ".parquet":
            table = _parquet(path, name, names)
        else:
            text = decode(path.read_bytes(), name, findings.warnings)
            if suffix in (".jsonl", ".ndjson"):
                table = _jsonl(text, name, found)
            else:
                table = _separated(text, name, names, suffix, Findings(found, findings.warnings))
    except (ValueError, OSError) as error:
        found.append(f"{name}: {error}")
        table = None
    findings.problems.extend(found)
    return None if found else table


def _jsonl(text: str, name: str, problems: list[str]) -> Table:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    # U+2028, U+0085 and their like are text within JSON, so only a newline ends a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" \t\r"):
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"{name} line {number}: not JSON ({error}); expected one object a line")
            continue
        if not isinstance(row, dict):
            problems.append(f"{name} line {number}: {shown(row)}, expected one object a line")
            continue
        rows.append(row)
        lines.append(number)
    keys = dict.fromkeys(key for row in rows for key in row)
    return Table(name, {key: [row.get(key) for row in rows] for key in keys}, lines)


def _separated(text: str, name: str, names: Names, suffix: str, findings: Findings) -> Table:
    delimiter = _delimiter(text, names, _EXPECTED[suffix])
    if delimiter != _EXPECTED[suffix]:
        findings.warnings.append(f"{name}: read with {_DELIMITERS[delimiter]} between fields")
    header, cells, lines = _records(text, delimiter, name, findings.problems)
    doubled = sorted({column for column in header if column.strip() and header.count(column) > 1})
    if doubled:
        findings.problems.append(f"{name}: the header names {enumerated(doubled)} twice; leave one of them")
    columns: dict[str, Any] = {}
    for index, column in enumerate(header):
        values = [row[index] for row in cells]
        if column.strip():
            columns[column] = values
        elif any(values):
            findings.problems.append(f"{name}: column {index + 1} has cells and no name; name it or remove it")
    return Table(name, columns, lines)


def _delimiter(text: str, names: Names, expected: str) -> str:
    """Choose the delimiter that makes most known names of the header; the expected one when they tie."""
    header = text.lstrip("\r\n").split("\n", 1)[0]

    def known(delimiter: str) -> tuple[int, bool]:
        try:
            cells = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            cells = []
        return len(known_columns(cells, names)), delimiter == expected

    return max(_DELIMITERS, key=known)


def _records(text: str, delimiter: str, name: str, problems: list[str]) -> tuple[list[str], list[list[str]], list[int]]:
    """Split into header, rows of the header's width, and the line each row starts on."""
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    # `strict` refuses a quote in the wrong place; without it the quote vanishes and the cell changes.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(sys.maxsize)
    start = 1
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not any(cells):
                continue
            if not header:
                header = cells
            elif len(cells) != len(header):
                problems.append(f"{name} line {line}: {len(cells)} cells, expected {len(header)} as in the header")
            else:
                rows.append(cells)
                lines.append(line)
    except csv.Error as error:
        problems.append(
            f"{name} line {start}: {error}; put a cell that holds quotes into quotes and double the ones inside"
        )
    finally:
        csv.field_size_limit(limit)
    return header, rows, lines


def _parquet(path: Path, name: str, names: Names) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            available = file.schema_arrow.names
            wanted = known_columns(available, names)
            table = file.read(columns=wanted)
            rows = file.metadata.num_rows
    except pa.ArrowException as error:
        raise ValueError(f"not a readable parquet file ({error})") from None
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"a column appears twice among {enumerated(wanted)}; leave one of them")
    columns = {column: table.column(column).to_pylist() for column in wanted}
    unread = tuple(column for column in available if column not in columns)
    return Table(name, columns, range(1, rows + 1), "row", unread)
