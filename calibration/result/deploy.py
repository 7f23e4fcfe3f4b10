"""What to write where: the recommended floor for each consumer, the query, and how the server would run it."""

import re
from typing import Any

from ..contract.deploy import bound, deployments, operator_metric, pgvector_sql
from ..errors import ContractError
from ..studies.model import Calibration

_QUOTED = re.compile(r'(?:(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")\.)?"(?:[^"]|"")+"')
"""A name as `calibrate init` writes it, quoted where SQL needs it."""


def deploy_document(calibration: Calibration) -> dict[str, Any]:
    """Give the deploy sheet as plain JSON; without a floor, no consumer has a number and the query takes the best.

    Returns
    -------
    dict
        top_k, sql (None where pgvector has no such score), plan (None where no database was asked), consumers.
    """
    contract, floor = calibration.scores.contract, calibration.floor
    plan = calibration.facts.get("search_plan")
    return {
        "top_k": calibration.top_k.value,
        "sql": deployed_sql(calibration),
        "plan": None
        if plan is None
        else {name: plan[name] for name in ("lines", "reason", "operator", "uses_index", "fitting")},
        "consumers": []
        if floor is None
        else deployments(floor, contract, top_k=calibration.top_k.value, clear=is_clear(calibration)),
    }


def deployed_sql(calibration: Calibration) -> str | None:
    """Write the pgvector query that accepts what this package accepts; None where no operator gives the score."""
    contract, params, floor = calibration.scores.contract, calibration.params, calibration.floor
    metric = operator_metric(contract)
    if metric is None:
        return None
    try:
        limit = None if floor is None else bound(floor, contract, metric, clear=is_clear(calibration))
    except ContractError:
        return None
    conditions = [params.where] if params.where is not None else []
    if params.model_column is not None and (params.model_value or params.model):
        value = str(params.model_value or params.model).replace("'", "''")
        conditions.append(f"{quoted(params.model_column)} = '{value}'")
    return pgvector_sql(
        contract,
        table=quoted(params.table or "passages"),
        key=quoted(params.id_column),
        vector=quoted(params.vector_column),
        top_k=calibration.top_k.value,
        limit=None if limit is None else (limit[0], repr(limit[1])),
        where=conditions,
        column_type=(calibration.facts.get("search_plan") or {}).get("column_type", "vector"),
    )


def is_clear(calibration: Calibration) -> bool:
    """Tell whether no observed similarity lies on the floor's boundary, where rounding would decide."""
    return not bool(calibration.in_sample.queries["boundary"].any())


def quoted(name: str) -> str:
    """Quote a name for SQL; a plain lower-case one stays as it is.

    Examples
    --------
    >>> quoted("app.chunks"), quoted("My Docs"), quoted('app."My.Docs"'), quoted('"My App"."Docs"')
    ('app.chunks', '"My Docs"', 'app."My.Docs"', '"My App"."Docs"')
    """
    if _QUOTED.fullmatch(name):
        return name
    parts = name.split(".")
    plain = all(part.isidentifier() and part.isascii() and part == part.lower() for part in parts)
    return name if plain else ".".join('"' + part.replace('"', '""') + '"' for part in parts)
