"""A live pgvector table against the contract that was recorded for it."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..contract import ContractFile, ScoreContract, read_contract, tolerance_for
from ..errors import listed

if TYPE_CHECKING:
    from ..sources.base import Preflight

UNIT_DOCUMENTS = ("document_unit_l2", "query_and_document_unit_l2")


def assert_contract_of_table(
    contract_file: str | Path | ContractFile,
    table: str,
    vector_column: str = "embedding",
    *,
    dsn: str | None = None,
    service: str | None = None,
    id_column: str = "id",
    model_column: str | None = None,
    where: str | None = None,
) -> None:
    """Assert that what a live pgvector table holds is what the recorded contract says.

    Compared are the metric (an operator of pgvector returns it, and the vector indexes serve it), the lengths of the
    vectors that the contract calls unit, zero vectors under a cosine, one width, the storage type against the
    tolerance, the model of every row where a column names it, and `table` and `dimensions` where the contract's source
    records them. The table is only read.

    Parameters
    ----------
    dsn, service : str, optional
        Connection string, or section of the Postgres service file; without both, the PG* variables.
    where : str, optional
        SQL condition of the rows that are meant.

    Raises
    ------
    AssertionError
        All facts that differ, at once.
    StoreError
        The table cannot be read.

    Examples
    --------
    >>> assert_contract_of_table("contract.json", "passages", dsn="service=docs")  # doctest: +SKIP
    """
    from ..sources.facts import index_problems, model_problems, width_problems
    from ..sources.postgres.catalog import SCORES, Names, resolve
    from ..sources.postgres.connect import explained, set_local, snapshot
    from ..sources.postgres.preflight import EXACT_SETTINGS, measure

    file = contract_file if isinstance(contract_file, ContractFile) else read_contract(contract_file)
    contract = file.contract
    if contract.metric not in SCORES or contract.score_transform != "none":
        raise AssertionError(
            f"the contract says {contract.metric!r} with score_transform {contract.score_transform!r}, which no "
            f"operator of pgvector returns; expected one of {', '.join(SCORES)}, not transformed."
        )
    names = Names(table, id_column, vector_column, None, model_column, where)
    with snapshot(dsn, service) as connection, explained(f"measure {table}"):
        set_local(connection, EXACT_SETTINGS)
        target = resolve(connection, names, contract.metric)
        facts = measure(connection, target, contract.metric, contract.embedding_version)
    problems = index_problems(target.indexes, contract.metric, target.column_type)
    problems += width_problems(vector_column, facts.dimensions)
    problems += model_problems(facts.models, contract.embedding_version)
    problems += _length_problems(facts, contract)
    problems += _recorded_problems(facts, file, table)
    if len(facts.dimensions) == 1:
        needed = tolerance_for(target.column_type, *facts.dimensions)
        if contract.tolerance < needed:
            problems.append(
                f"the contract's tolerance {contract.tolerance:g} is narrower than what {target.column_type} rounds at "
                f"this width, {needed:.2g}"
            )
    if problems:
        raise AssertionError(f"the table {table} is not what the contract says:\n{listed(problems)}")


def _length_problems(facts: "Preflight", contract: ScoreContract) -> list[str]:
    total = facts.rows - facts.null_vectors
    if total == 0:
        return [f"0 of {facts.rows} rows hold a vector, so nothing can be compared"]
    problems = []
    if facts.zero_vectors:
        shown = ", ".join(facts.zero_ids)
        problems.append(f"{facts.zero_vectors} of {total} vectors are zero, which no metric can place: {shown}")
    if contract.normalisation in UNIT_DOCUMENTS and facts.not_unit:
        problems.append(
            f"{facts.not_unit} of {total} document vectors are not of unit length (norms {facts.norm_min:.6g} to "
            f"{facts.norm_max:.6g}), the contract says {contract.normalisation}"
        )
    return problems


def _recorded_problems(facts: "Preflight", file: ContractFile, table: str) -> list[str]:
    recorded = {} if file.source is None else file.source
    problems = []
    width = recorded.get("dimensions")
    if width is not None and list(facts.dimensions) != [width]:
        found = ", ".join(map(str, facts.dimensions)) or "none"
        problems.append(f"the contract records {width} dimensions, the table holds {found}")
    if recorded.get("table") not in (None, table):
        problems.append(f"the contract records the table {recorded['table']!r}, this is {table!r}")
    return problems
