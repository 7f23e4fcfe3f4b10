"""What may stand in a score contract, and what its scores may be."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ContractError
from .metrics import metric_named
from .transforms import transform_named

NORMALISATIONS = ("none", "query_unit_l2", "document_unit_l2", "query_and_document_unit_l2")
UNSCORED = ("drop", "keep")


def contract_problems(fields: Mapping[str, Any]) -> list[str]:
    """Name all that is wrong with the fields of a contract; fields that are absent are not missed.

    Examples
    --------
    >>> contract_problems({"metric": "l2", "tolerance": -1})
    ['tolerance is -1, expected a finite number from 0 on']
    """
    problems = []
    try:
        transform_named(fields.get("score_transform", "none"), metric_named(fields.get("metric", "")))
    except ContractError as error:
        problems.append(str(error))
    for name, known in (("normalisation", NORMALISATIONS), ("unscored", UNSCORED)):
        if name in fields and fields[name] not in known:
            problems.append(f"{name} is {fields[name]!r}, expected one of {', '.join(known)}")
    if not isinstance(fields.get("threshold_inclusive", True), bool | np.bool_):
        problems.append(f"threshold_inclusive is {fields['threshold_inclusive']!r}, expected true or false")
    version = fields.get("embedding_version", "undeclared")
    if not isinstance(version, str) or not version.strip():
        problems.append(f"embedding_version is {version!r}, expected the name of the model behind the vectors")
    tolerance = fields.get("tolerance", 0.0)
    if not is_number(tolerance) or not 0 <= tolerance < math.inf:
        problems.append(f"tolerance is {tolerance!r}, expected a finite number from 0 on")
    return problems


def is_number(value: object) -> bool:
    """Tell a number from what Python only treats as one.

    Examples
    --------
    >>> is_number(0.0), is_number(True), is_number("0.3")
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def check_cosine_range(cosine: npt.NDArray[np.float64], *, slack: float = 1e-3) -> None:
    """Refuse "cosines" outside [-1, 1] by more than float32 rounding of long vectors can explain.

    Examples
    --------
    >>> check_cosine_range(np.array([1.0000001, 0.49]))
    """
    outside = np.abs(cosine) > 1.0 + slack
    if outside.any():
        worst = cosine[outside][np.argmax(np.abs(cosine[outside]))]
        raise ContractError(
            f"{int(outside.sum())} of {cosine.size} values lie outside [-1, 1] for a cosine similarity (for example "
            f"{worst:.6g}): the vectors are not of unit length, or the declared metric or transform is wrong. Declare "
            "what the backend returns, or normalise the vectors."
        )
