"""Values on their way into a notebook: plain, so that nothing changes its type on the way."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ParameterError, listed


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn values into what JSON and a notebook's parameters cell can hold, or refuse them.

    numpy scalars become Python's, tuples become lists, paths become text.

    Raises
    ------
    ParameterError
        Values of other types, all of them named.

    Examples
    --------
    >>> plain_values({"ks": (1, 5), "out": Path("runs")})
    {'ks': [1, 5], 'out': 'runs'}
    """
    plain, problems = {}, []
    for name, value in values.items():
        try:
            plain[name] = _plain(value)
        except TypeError as error:
            problems.append(f"{name}: {error} is no plain value (number, text, true/false, list)")
    if problems:
        raise ParameterError("parameters cannot be used:\n" + listed(problems))
    return plain


def scalars(values: Mapping[str, Any]) -> dict[str, Any]:
    """Write lists and mappings as the text that a notebook's scalar parameters carry.

    Examples
    --------
    >>> scalars({"languages": ["en", "pl"], "answerability_by_kind": {"no_link": "missing_answer"}, "top_k": None})
    {'languages': 'en, pl', 'answerability_by_kind': 'no_link=missing_answer', 'top_k': None}
    """
    return {name: _joined(value) for name, value in values.items()}


def _joined(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(str(item) for item in value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(type(value).__name__)
