"""`calibrate convert`: one threshold in other units, or the reason why not."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
METRIC = ("--from", "cosine_similarity", "--to")


def test_the_answer_in_words_states_rule_premise_boundary_and_line(command: Command) -> None:
    said = command("convert", 0.8, *METRIC, "squared_l2")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[:2] == ["cosine_similarity >= 0.8", "is squared_l2 <= 0.4"]
    assert "both query and document vectors are of unit length" in lines[2]
    assert "from 0.399998 to 0.400002" in lines[3]
    assert lines[4].startswith("Apply it: accepted = [hit for hit in hits if hit.score <= 0.4]")


def test_the_answer_as_json_has_the_promised_keys(command: Command) -> None:
    said = command("convert", 0.8, *METRIC, "cosine_distance", "--json")
    assert json.loads(said.out) == {
        "value": 0.2,
        "comparison": "<=",
        "metric": "cosine_distance",
        "inclusive": True,
        "normalisation": "query_and_document_unit_l2",
        "snippet": "WHERE vector_norm(embedding::vector) > 0 AND embedding <=> $1 <= 0.2",
    }


@pytest.mark.parametrize("value", ["-0.8", "-.8", "-8e-1"])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_negative_threshold_is_a_value_wherever_it_stands(command: Command, value: str, place: int) -> None:
    options = ["--from=negative_inner_product", "--to", "l2", "--json"]
    said = command("convert", *options[:place], value, *options[place:])
    assert said.code == 0, said.err
    assert json.loads(said.out)["value"] == pytest.approx(0.4**0.5)
    plain = command("convert", "--to", "l2", "--from", "negative_inner_product", "--json", "--", value)
    assert plain.out == said.out


def test_a_transform_may_begin_with_a_minus(command: Command) -> None:
    said = command("convert", -0.3, "--from", "cosine_distance", "--transform-from", "-d", "--to", "cosine_similarity")
    assert said.out.splitlines()[:2] == ["-d of cosine_distance >= -0.3", "is cosine_similarity >= 0.7"]


def test_strict_comparison_and_transforms(command: Command) -> None:
    said = command("convert", 0.7, *METRIC, "cosine_similarity", "--transform-to", "(1+cos)/2", "--exclusive", "--json")
    found = json.loads(said.out)
    assert (found["value"], found["comparison"], found["inclusive"]) == (0.85, ">", False)


def test_c46_sigmoid_to_logit(command: Command) -> None:
    said = command("convert", 0.5, "--from", "reranker_logit", "--transform-from", "sigmoid", "--to", "reranker_logit")
    assert "is reranker_logit >= 0.0" in said.out
    assert "unit length" not in said.out


REFUSED = [
    (("--to", "l2", "--normalisation", "none"), "'l2' says nothing about a cosine unless both"),
    (("--to", "inner_product", "--normalisation", "query_unit_l2"), "the document vectors are not"),
    (("--to", "rrf"), "no floor on 'rrf': a reciprocal-rank-fusion score depends on ranks only"),
    (("--to", "minmax_per_query"), "no floor on 'minmax_per_query'"),
    (("--to", "reranker_logit"), "'reranker_logit' does not convert: a reranker"),
    (("--to", "vendor_relevance"), "'vendor_relevance' does not convert: a vendor"),
    (("--to", "<=>"), "'<=>' is an operator, not a metric; it returns 'cosine_distance'"),
    (("--to", "<+>"), "taxicab distance (L1)"),
    (("--to", "euclidean_score"), "unknown metric 'euclidean_score'"),
    (("--to", "l2", "--normalisation", "both"), "normalisation is 'both', expected one of"),
    (("--to", "l2", "--transform-to", "max(0,1-d)"), "makes different scores equal"),
]


@pytest.mark.parametrize(("options", "why"), REFUSED)
def test_a_refusal_says_why_and_exits_with_1(command: Command, options: tuple[str, ...], why: str) -> None:
    words = command("convert", 0.8, "--from", "cosine_similarity", *options)
    assert (words.code, words.out) == (1, "")
    assert words.err.startswith("calibrate: ")
    assert why in words.err
    said = command("convert", 0.8, "--from", "cosine_similarity", *options, "--json")
    assert (said.code, said.err) == (1, "")
    found = json.loads(said.out)
    assert list(found) == ["refused"]
    assert why in found["refused"]


def test_c26_c65_a_percentage_and_a_decimal_comma(command: Command) -> None:
    said = command("convert", 78, *METRIC, "l2")
    assert said.code == 1
    assert "Did you mean 0.78?" in said.err
    assert "use 0.8" in command("convert", "0,8", *METRIC, "l2").err
    assert "use -0.8" in command("convert", "-0,8", *METRIC, "l2").err
    assert command("convert", "0,8", *METRIC, "l2").code == 2
    assert "not a finite number" in command("convert", "nan", *METRIC, "l2").err


def test_c23_a_threshold_of_zero(command: Command) -> None:
    assert "is squared_l2 <= 2.0" in command("convert", 0, *METRIC, "squared_l2").out


def test_a_mistyped_option_is_a_usage_error(command: Command) -> None:
    said = command("convert", 0.8, "--form", "l2", "--to", "l2")
    assert said.code == 2
    assert "--form" in said.err


def test_help_loads_no_numpy(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from calibration.cli import app\n"
        "sys.argv = ['calibrate', 'convert', '--help']\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pandas', 'scipy', 'psycopg'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
