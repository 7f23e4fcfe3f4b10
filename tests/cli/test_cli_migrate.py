"""`calibrate migrate`: verdict in words and JSON, exit codes, and the page."""

import json

import nbformat
import numpy as np
import pytest
from deployed import Corpus

from calibration.contract import read_contract
from calibration.studies.migrate.example import example


@pytest.fixture
def files(tmp_path):
    return example(tmp_path)


def test_an_unchanged_migration_leaves_page_json_and_notebook(command, files, tmp_path):
    said = command("migrate", "old.json", "new.json", "--queries", "queries.npz", "--out", "out")
    assert said.code == 0, said.err
    assert said.out.splitlines()[:2] == ["verdict  unchanged", "rule     <= 0.4 on squared_l2"]
    assert "queries  27 above the threshold, 6 near it, 27 below" in said.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "migration.html", "migration.ipynb", "migration.json", "migration.run.json",
    ]  # fmt: skip
    page = (tmp_path / "out" / "migration.html").read_text(encoding="utf-8")
    assert "Unchanged" in page
    assert "What the wrong migrations would do here" in page
    about = json.loads((tmp_path / "out" / "migration.run.json").read_text(encoding="utf-8"))
    assert about["command"] == "calibrate migrate old.json new.json --queries queries.npz --out out"
    again = command("migrate", "old.json", "new.json", "--queries", "queries.npz", "--out", "out", "--json")
    assert json.loads(again.out)["verdict"] == "unchanged"
    nbformat.validate(nbformat.read(tmp_path / "out" / "migration.ipynb", as_version=4))


def test_a_copied_number_exits_with_3_and_names_the_cause(command, files, tmp_path):
    contract = json.loads((tmp_path / "new.json").read_text())
    (tmp_path / "new.json").write_text(json.dumps(contract | {"threshold": 0.8}))
    said = command("migrate", "old.json", "new.json", "--queries", "queries.npz", "--json")
    assert said.code == 3, said.err
    found = json.loads(said.out)
    assert found["verdict"] == "changed"
    assert found["causes"]["conversion"] == len(found["flips"]) == 49
    assert found["agreement"]["exact"]["ranking"]["numerator"] == 60


def test_where_nothing_was_shown_the_switch_does_not_pass(command, tmp_path):
    corpus = Corpus(tmp_path, None, ["A", "B"], [[1, 0], [0, 1]], [[1, 0]])
    old, new = corpus.contract("numpy cosine_similarity", 0.5, name="old"), corpus.contract("numpy l2", name="new")
    said = command("migrate", old, new, "--queries", corpus.queries_file)
    assert said.code == 3, said.err
    assert said.out.startswith("verdict  not shown")
    assert "no best candidate lies within 0.02 of the threshold" in said.out


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"metric": "euclidean"}, (), "unknown metric 'euclidean'"),
        ({"embedding_version": "other"}, (), "different embedding_version"),
        ({"source": {"kind": "pgvector", "table": "t", "index": {"ef_search": 1001}}}, (), "allowed 1..1000"),
        ({"source": None}, (), "names no source"),
        ({"source": {"kind": "arrays", "vectors": "vector.npz"}}, (), "names files that do not exist"),
        ({"source": {"kind": "faiss", "index": "i.faiss", "ids": "ids.txt"}}, (), "ids.txt. Paths are relative to it"),
        ({}, ("--queries", "nothing.npz"), "does not exist"),
        ({}, ("--near", "-1"), "near"),
    ],
)
def test_c35_errors_are_one_line_and_exit_1_before_anything_is_searched(
    command, files, tmp_path, change, options, message
):
    contract = json.loads((tmp_path / "new.json").read_text())
    (tmp_path / "new.json").write_text(json.dumps(contract | change))
    said = command("migrate", "old.json", "new.json", "--queries", "queries.npz", *options)
    assert said.code == 1
    assert message in said.err
    assert "Traceback" not in said.err


def test_the_contract_files_of_the_example_are_contracts(files, tmp_path):
    assert read_contract(tmp_path / "old.json").threshold == 0.8
    with np.load(tmp_path / "queries.npz") as vectors:
        assert np.linalg.norm(vectors["query_vectors"], axis=1) == pytest.approx(1.0, abs=1e-6)
