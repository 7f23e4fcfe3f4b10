"""Contracts as files: versioned, whole, and refused by name."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from calibration.contract import METRICS, ContractFile, ScoreContract, contract_schema, read_contract, write_contract
from calibration.errors import ContractError

SEED: dict[str, Any] = {
    "schema_version": 1,
    "metric": "cosine_similarity",
    "higher_is_better": True,
    "normalisation": "query_and_document_unit_l2",
    "threshold": 0.8,
    "threshold_inclusive": True,
    "embedding_version": "fixture-v1",
    "score_transform": "none",
}
LEAST = {name: SEED[name] for name in ("schema_version", "metric", "normalisation", "threshold_inclusive")} | {
    "embedding_version": "fixture-v1"
}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Write a file and return its path."""

    def write(values: Any) -> Path:
        path = tmp_path / "contract.json"
        path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return path

    return write


def test_the_record_of_the_seed_is_read(written: Any) -> None:
    path = written(SEED)
    file = read_contract(path)
    assert file.contract == ScoreContract(embedding_version="fixture-v1")
    assert (file.threshold, file.floor, file.top_k, file.source, file.path) == (0.8, 0.8, None, None, path)


def test_what_is_written_is_read_again_and_fits_the_schema(tmp_path: Path) -> None:
    contract = ScoreContract(
        "squared_l2", threshold_inclusive=False, embedding_version="m", tolerance=2e-4, unscored="keep",
        score_transform="1/(1+d)",
    )  # fmt: skip
    source = {"kind": "arrays", "vectors": "v.npz"}
    path = write_contract(ContractFile(contract, 0.7, 8, source), tmp_path / "new folder" / "contract.json")
    values = json.loads(path.read_text(encoding="utf-8"))
    assert (values["schema_version"], values["higher_is_better"]) == (1, True)
    jsonschema.validate(values, contract_schema())
    again = read_contract(path)
    assert again == ContractFile(contract, 0.7, 8, source, path)
    assert again.floor == pytest.approx(1 - (1 / 0.7 - 1) / 2)
    assert [item.name for item in path.parent.iterdir()] == ["contract.json"]


def test_the_schema_is_a_schema_and_names_every_metric_and_field() -> None:
    schema = contract_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["metric"]["enum"] == list(METRICS)
    assert set(schema["properties"]) == set(ContractFile(ScoreContract()).to_dict())


def test_c23_zero_is_a_threshold_and_null_is_none(written: Any) -> None:
    assert read_contract(written(SEED | {"threshold": 0.0})).threshold == 0.0
    assert read_contract(written(SEED | {"threshold": 0})).floor == 0.0
    assert read_contract(written(SEED | {"threshold": None})).floor is None
    assert read_contract(written(LEAST)).threshold is None


BAD: list[tuple[dict[str, Any], str]] = [
    ({"treshold": 0.8}, r"unknown field 'treshold'; did you mean 'threshold'\?"),
    ({"metric": "euclidean_score"}, "unknown metric 'euclidean_score'"),
    ({"metric": "inner_produkt"}, r"did you mean 'inner_product'\?"),
    ({"metric": 3}, "unknown metric '3'"),
    ({"metric": ["l2"]}, "unknown metric"),
    ({"normalisation": "both"}, "normalisation is 'both', expected one of none"),
    ({"normalisation": None}, "normalisation is None"),
    ({"higher_is_better": False}, "higher_is_better says lower is better, but 'cosine_similarity' means higher"),
    ({"higher_is_better": "yes"}, "higher_is_better is 'yes', expected true or false"),
    ({"threshold": "0.8"}, "threshold is '0.8', expected a number"),
    ({"threshold": True}, "threshold is True, expected a number"),
    ({"threshold": 78}, r"threshold 78 is outside \[-1, 1\].*Did you mean 0\.78"),
    ({"threshold": 10**400}, "threshold is 1000.*expected a number"),
    ({"threshold_inclusive": 1}, "threshold_inclusive is 1, expected true or false"),
    ({"embedding_version": " "}, "embedding_version is ' ', expected the name of the model"),
    ({"score_transform": "max(0,cos)"}, "makes different scores equal"),
    ({"score_transform": 3}, "unknown score_transform '3'"),
    ({"tolerance": -1e-6}, "tolerance is -1e-06, expected a finite number from 0 on"),
    ({"tolerance": None}, "tolerance is None"),
    ({"unscored": "zero"}, "unscored is 'zero', expected one of drop, keep"),
    ({"top_k": 0}, "top_k is 0, expected a whole number from 1 on"),
    ({"top_k": True}, "top_k is True"),
    ({"top_k": 2.5}, "top_k is 2.5"),
    ({"source": "table"}, "source is 'table', expected an object"),
    ({"schema_version": 2}, "schema_version is 2, expected 1"),
    ({"schema_version": True}, "schema_version is True, expected 1"),
    ({"schema_version": "1"}, "schema_version is '1', expected 1"),
]


@pytest.mark.parametrize(
    ("change", "why"), BAD, ids=[f"{number} {' '.join(change)}" for number, (change, _) in enumerate(BAD)]
)
def test_what_is_unknown_or_contradictory_is_refused_by_name(written: Any, change: dict[str, Any], why: str) -> None:
    path = written(SEED | change)
    with pytest.raises(ContractError, match=why) as refused:
        read_contract(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("name", LEAST)
def test_what_is_missing_is_named(written: Any, name: str) -> None:
    values = {key: value for key, value in SEED.items() if key != name}
    with pytest.raises(ContractError, match=f"{name} is missing"):
        read_contract(written(values))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, contract_schema())


@pytest.mark.parametrize(
    "change", [change for change, why in BAD if not any(word in why for word in ("says", "outside", "1000", "equal"))]
)
def test_the_schema_refuses_what_the_reader_refuses(change: dict[str, Any]) -> None:
    # what needs arithmetic, and formulas, are the reader's alone
    if list(change) != ["score_transform"] or change["score_transform"] == 3:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(SEED | change, contract_schema())


def test_direction_is_derived_through_metric_and_transform(written: Any) -> None:
    distance = LEAST | {"metric": "l2", "score_transform": "1/(1+d)"}
    assert read_contract(written(distance | {"higher_is_better": True})).contract.higher_is_better
    with pytest.raises(ContractError, match=r"but 'l2' through '1/\(1\+d\)' means higher is better"):
        read_contract(written(distance | {"higher_is_better": False}))


def test_c03_a_transform_that_runs_the_wrong_way_contradicts_its_file(written: Any) -> None:
    wrong = LEAST | {"metric": "l2", "score_transform": "1-exp(-d)", "higher_is_better": True}
    with pytest.raises(ContractError, match=r"higher_is_better says higher is better, but .* means lower is better"):
        read_contract(written(wrong))


def test_all_problems_come_at_once(written: Any) -> None:
    with pytest.raises(ContractError) as refused:
        read_contract(written({"metrik": "l2", "metric": "l3", "top_k": 0, "tolerance": -1}))
    for words in ("'metrik'", "'l3'", "top_k is 0", "tolerance is -1", "schema_version is missing"):
        assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "a JSON list, expected an object"),
        ("null", "expected an object"),
        ('{"metric": "l2", "metric": "l2"}', "'metric' stands twice"),
        (json.dumps(SEED).replace("0.8", "NaN"), "threshold is 'NaN', expected a number"),
        (json.dumps(SEED).replace("0.8", "-Infinity"), "threshold is '-Infinity', expected a number"),
        (json.dumps(SEED).replace("0.8", "1e999"), "threshold inf is not a finite number"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_contract_at_all_is_an_error_with_the_file(written: Any, text: str, why: str) -> None:
    with pytest.raises(ContractError, match=why):
        read_contract(written(text))


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"none\.json: .*expected a contract file"):
        read_contract(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ContractError, match="not UTF-8"):
        read_contract(tmp_path / "bytes.json")


def test_c61_a_byte_order_mark_is_no_part_of_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(SEED), encoding="utf-8-sig")
    assert read_contract(path).threshold == 0.8


def test_a_rule_that_cannot_be_is_not_made() -> None:
    for change in ({"threshold": 78.0}, {"threshold": float("nan")}, {"top_k": 0}):
        with pytest.raises(ContractError, match="the contract cannot be used"):
            ContractFile(ScoreContract(), **change)  # type: ignore[arg-type]
    with pytest.raises(ContractError, match="no floor on 'rrf'"):
        ContractFile(ScoreContract("rrf"), 0.01)
    assert ContractFile(ScoreContract("rrf"), top_k=8).floor is None


def test_a_file_is_put_in_place_whole(tmp_path: Path) -> None:
    path = write_contract(ContractFile(ScoreContract(), 0.8), tmp_path / "contract.json")
    before, held = path.read_bytes(), tmp_path / "held.json"
    os.link(path, held)
    write_contract(ContractFile(ScoreContract(), 0.7), path)
    assert held.read_bytes() == before
    assert read_contract(path).threshold == 0.7


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = write_contract(ContractFile(ScoreContract(), 0.8), tmp_path / "contract.json")
    before = path.read_bytes()
    for source in ({"path": Path("x")}, {"limit": float("nan")}, {"name": "\ud800"}):
        with pytest.raises(ContractError, match="cannot be written"):
            write_contract(ContractFile(ScoreContract(), 0.8, source=source), path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["contract.json"]


def test_numbers_of_numpy_are_written_like_any_other(tmp_path: Path) -> None:
    contract = ScoreContract(threshold_inclusive=np.bool_(False), tolerance=np.float32(0.25))  # type: ignore[arg-type]
    file = ContractFile(contract, np.float32(0.5))  # type: ignore[arg-type]
    found = read_contract(write_contract(file, tmp_path / "contract.json"))
    assert (found.threshold, found.contract.tolerance, found.contract.threshold_inclusive) == (0.5, 0.25, False)
    assert found.contract == contract


def test_a_number_of_thousands_of_digits_is_refused_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text('{"schema_version": 1, "threshold": ' + "9" * 5000 + "}", encoding="utf-8")
    with pytest.raises(ContractError, match=r"contract\.json: holds a whole number of thousands of digits"):
        read_contract(path)
