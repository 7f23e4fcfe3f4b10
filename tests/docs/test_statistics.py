"""The numbers of docs/statistics.md are those of the library."""

import doctest
import re
from pathlib import Path

import pytest

from calibration import Costs, parameters
from calibration.choose import PRESETS, empirical_cost
from calibration.studies.calibrate import calibrate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "statistics.md"
JUDGED = {"✓": 1, "✗": 0}


def rows(header: str) -> list[list[str]]:
    """Cells of the table under a header."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index(f"| {header} |") :].split("\n\n", 1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def bands() -> dict[str, list[float]]:
    return {name: [float(value) for value in cells.split()] for name, cells in rows("band | similarities")}


def test_the_python_examples_run() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted >= 12
    assert found.failed == 0


def test_the_table_of_costs_is_counted_right() -> None:
    relevant, noise = bands()["best relevant"], bands()["far noise"]
    assert (len(relevant), len(noise)) == (10, 10)
    table = rows("floor | lost | let through | balanced 3:1 | completeness 10:1 | refusal 1:3")
    assert len(table) == 5
    cheapest = {}
    for floor, lost, let_through, *costs in table:
        f = float(floor)
        assert int(lost) == sum(value < f for value in relevant)
        assert int(let_through) == sum(value >= f for value in noise)
        for name, said in zip(("balanced", "completeness", "refusal"), costs, strict=True):
            cost = empirical_cost(relevant, noise, f, PRESETS[name])
            assert f"{cost:.2f}" == said
            cheapest.setdefault(name, []).append((cost, floor))
    assert [min(cheapest[name])[1] for name in ("balanced", "completeness", "refusal")] == ["0.35", "0.16", "0.44"]
    assert PRESETS["balanced"] == Costs(3.0, 1.0, 0.5)


def test_no_other_threshold_of_the_example_is_cheaper() -> None:
    relevant, noise = bands()["best relevant"], bands()["far noise"]
    for name, said in (("balanced", 0.25), ("completeness", 0.45), ("refusal", 0.15)):
        every = [empirical_cost(relevant, noise, f, PRESETS[name]) for f in (*relevant, *noise, 1.0)]
        assert min(every) == pytest.approx(said)


def test_the_rates_of_the_seven_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRATION_CACHE", str(tmp_path / "cache"))
    lines = ["query_id,doc_id,score,relevance,answerability"]
    for name, kind, passages, _ in rows("question | is | best passages | accepted"):
        answerability = kind.replace("off-topic", "off_topic").replace(" ", "_")
        for number, (score, judged) in enumerate(re.findall(r"(0\.\d+) (.)", passages)):
            lines.append(f"{name},{name}-{number},{score},{JUDGED[judged]},{answerability}")
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = calibrate(parameters({"scores": str(path), "old_floor": 0.35, "top_k": 2})).old
    assert found is not None
    names = {
        "hit rate": "hit_rate",
        "empty-context rate": "empty_context_rate",
        "coverage": "coverage",
        "false-answer rate, off-topic": "false_answer_rate_off_topic",
        "false-answer rate, missing answer": "false_answer_rate_missing_answer",
        "risk": "risk_high",
        "recall": "recall_micro",
        "precision": "precision_judged",
    }
    said = {name: here for name, _, here in rows("rate | asks | here")}
    assert set(said) == set(names)
    for name, here in said.items():
        rate = found.rates[names[name]]
        assert here == f"{rate.numerator:g} of {rate.denominator}", name
    accepted = {
        name: len(docs) for name, docs in zip(found.queries["query_id"], found.queries["accepted"], strict=True)
    }
    words = {"both": 2, "the wrong one": 1, "one": 1, "none": 0}
    assert accepted == {name: words[cell] for name, _, _, cell in rows("question | is | best passages | accepted")}


def test_the_napkin() -> None:
    assert f"{0.9**22:.3f}" == "0.098"
    assert 0.9**21 > 0.1
