"""Contracts as versioned JSON files, the form in which they are reviewed and committed."""

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ContractError, listed
from .checks import contract_problems, is_number
from .model import ScoreContract
from .thresholds import check_threshold

SCHEMA_VERSION = 1
CONTRACT_FIELDS = (
    "metric",
    "normalisation",
    "score_transform",
    "threshold_inclusive",
    "embedding_version",
    "tolerance",
    "unscored",
)
FIELDS = ("schema_version", *CONTRACT_FIELDS, "higher_is_better", "threshold", "top_k", "source")
REQUIRED = ("schema_version", "metric", "normalisation", "threshold_inclusive", "embedding_version")


@dataclass(frozen=True)
class ContractFile:
    """A score contract with the rule that is in force on it.

    Attributes
    ----------
    threshold : float or None
        Raw, in the contract's own units; inclusive or strict as the contract says. None is no threshold, 0.0 is one.
    top_k : int or None
        Hard limit on accepted passages.
    source : mapping or None
        Where the scores come from; read by the migration study, not here.
    path : Path or None
        Where it was read from.

    Raises
    ------
    ContractError
        All that is wrong, at once.
    """

    contract: ScoreContract
    threshold: float | None = None
    top_k: int | None = None
    source: Mapping[str, Any] | None = None
    path: Path | None = None

    def __post_init__(self) -> None:
        problems = _rule_problems(self.threshold, self.top_k, self.source, self.contract)
        if problems:
            raise ContractError("the contract cannot be used:\n" + listed(problems))
        if self.threshold is not None:
            object.__setattr__(self, "threshold", float(self.threshold))

    @property
    def floor(self) -> float | None:
        """The threshold as a similarity, higher is better; None without a threshold."""
        return None if self.threshold is None else self.contract.similarity_of(self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, all fields named."""
        values = {"schema_version": SCHEMA_VERSION, **asdict(self.contract)}
        values |= {"higher_is_better": self.contract.higher_is_better, "threshold": self.threshold, "top_k": self.top_k}
        values["source"] = None if self.source is None else dict(self.source)
        return {name: values[name] for name in FIELDS}


@cache
def contract_schema() -> dict[str, Any]:
    """Return the schema of a contract file as a dictionary (JSON Schema, draft 2020-12)."""
    text = (Path(__file__).parent / "contract.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def read_contract(path: str | Path) -> ContractFile:
    """Read a contract file.

    Raises
    ------
    ContractError
        It cannot be read, or something in it is unknown, missing or contradictory: all of it at once, with the file.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ContractError(f"{file}: {error.strerror or error}; expected a contract file (JSON).") from None
    except UnicodeDecodeError:
        raise ContractError(f"{file}: not UTF-8; expected a contract file (JSON).") from None
    repeated: list[str] = []
    try:
        values = json.loads(text, parse_constant=_no_number, object_pairs_hook=lambda pairs: _object(pairs, repeated))
    except json.JSONDecodeError as error:
        raise ContractError(f"{file}, line {error.lineno}: not JSON ({error.msg}).") from None
    except ValueError:
        raise ContractError(f"{file}: holds a whole number of thousands of digits, expected ordinary ones.") from None
    except RecursionError:
        raise ContractError(f"{file}: nested too deeply for a contract file.") from None
    problems = [f"{name!r} stands twice" for name in repeated]
    if not isinstance(values, dict):
        problems.append(f"a JSON {type(values).__name__}, expected an object with fields such as metric")
        values = {}
    else:
        problems += _problems(values)
    if problems:
        raise ContractError(f"{file} is not a score contract:\n{listed(problems)}")
    contract = ScoreContract(**{name: values[name] for name in CONTRACT_FIELDS if name in values})
    return ContractFile(contract, values.get("threshold"), values.get("top_k"), values.get("source"), file)


def write_contract(file: ContractFile, path: str | Path) -> Path:
    """Write a contract file, whole or not at all; its folder is created.

    Raises
    ------
    ContractError
        Its source or a name holds what JSON in UTF-8 cannot, such as NaN.
    """
    target = Path(path)
    try:
        text = json.dumps(file.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        content = text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(
            f"the contract cannot be written to {target}: {error}; expected plain JSON values."
        ) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _problems(values: Mapping[str, Any]) -> list[str]:
    """Name all that is wrong with the fields of a file."""
    problems = [_unknown(name) for name in values if name not in FIELDS]
    problems += [f"{name} is missing" for name in REQUIRED if name not in values]
    version = values.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        problems.append(f"schema_version is {version!r}, expected {SCHEMA_VERSION}")
    given = {name: values[name] for name in CONTRACT_FIELDS if name in values}
    own = contract_problems({"metric": "cosine_similarity"} | given)
    problems += own
    contract = None if own or not given else ScoreContract(**given)
    if contract is not None and "metric" in values:
        problems += _direction_problems(values, contract)
    rule = (values.get("threshold"), values.get("top_k"), values.get("source"))
    return problems + _rule_problems(*rule, contract if "metric" in values else None)


def _direction_problems(values: Mapping[str, Any], contract: ScoreContract) -> list[str]:
    if "higher_is_better" not in values or values["higher_is_better"] is contract.higher_is_better:
        return []
    if not isinstance(values["higher_is_better"], bool):
        return [f"higher_is_better is {values['higher_is_better']!r}, expected true or false"]
    through = "" if contract.score_transform == "none" else f" through {contract.score_transform!r}"
    said, found = ("higher", "lower") if values["higher_is_better"] else ("lower", "higher")
    return [
        f"higher_is_better says {said} is better, but {contract.metric!r}{through} means {found} is better: direction "
        "or transform is wrong"
    ]


def _rule_problems(threshold: Any, top_k: Any, source: Any, contract: ScoreContract | None) -> list[str]:
    problems = []
    if threshold is not None and not is_number(threshold):
        problems.append(f"threshold is {threshold!r}, expected a number, or null for no threshold")
    elif threshold is not None and contract is not None:
        try:
            check_threshold(threshold, contract)
        except ContractError as error:
            problems.append(str(error).rstrip("."))
    if top_k is not None and (not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1):
        problems.append(f"top_k is {top_k!r}, expected a whole number from 1 on, or null for no limit")
    if source is not None and not isinstance(source, Mapping):
        problems.append(f"source is {source!r}, expected an object, or null")
    return problems


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, FIELDS, n=1)
    return f"unknown field {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")


def _no_number(text: str) -> str:
    # kept as a text, so that the field it stands in is refused by name
    return text


def _object(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            repeated.append(name)
        found[name] = value
    return found
