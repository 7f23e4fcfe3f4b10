"""Calibrations of score files: the same search, however its scores are written."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibration import parameters
from calibration.errors import ContractError
from calibration.studies import calibrate as study


def score_file(path: Path, *, sign: int = 1, comma: bool = False) -> Path:
    """Eight answerable and 22 off-topic queries, a point apart from the noise."""
    rows = ["query_id;doc_id;score;relevance;answerability"]
    for number in range(8):
        for doc, score, grade in ((f"d{number}", 0.8 - number / 100, 1), (f"e{number}", 0.4 - number / 100, 0)):
            rows.append(f"a{number};{doc};{score if sign > 0 else 1 - score:.6f};{grade};answerable")
    for number in range(22):
        score = 0.3 - number / 100
        rows.append(f"o{number};d1;{score if sign > 0 else 1 - score:.6f};;off_topic")
    text = "\n".join(rows) + "\n"
    path.write_text(text.replace(".", ",") if comma else text, encoding="utf-8")
    return path


def test_a_score_file_with_decimal_commas_is_the_same_file(tmp_path: Path) -> None:
    plain = study.calibrate(parameters({"scores": str(score_file(tmp_path / "plain.csv"))}))
    commas = study.calibrate(parameters({"scores": str(score_file(tmp_path / "commas.csv", comma=True))}))
    assert plain.floor is not None
    assert 0.3 < plain.floor <= 0.73
    assert commas.floor == plain.floor
    assert not plain.scores.exact


def test_a_distance_is_lower_better_and_gives_the_same_floor(tmp_path: Path) -> None:
    plain = study.calibrate(parameters({"scores": str(score_file(tmp_path / "plain.csv"))}))
    far = study.calibrate(
        parameters({"scores": str(score_file(tmp_path / "far.csv", sign=-1)), "metric": "cosine_distance"})
    )
    assert far.floor == pytest.approx(plain.floor, abs=1e-9)
    assert far.scores.contract.raw(far.floor or 0.0) == pytest.approx(1 - (plain.floor or 0.0), abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "formula", "raw"),
    [
        ("cosine_similarity", "(1+cos)/2", lambda cosine: (1 + cosine) / 2),
        ("cosine_distance", "1-d/2", lambda cosine: 1 - (1 - cosine) / 2),
        ("squared_l2", "1/(1+d)", lambda cosine: 1 / (1 + 2 - 2 * cosine)),
        ("l2", "exp(-d)", lambda cosine: np.exp(-np.sqrt(2 - 2 * cosine))),
        ("inner_product", "1-dot", lambda cosine: 1 - cosine),
    ],
)
def test_c06_scores_of_a_search_engine_give_the_floor_of_the_cosines_behind_them(
    tmp_path: Path, metric: str, formula: str, raw: Callable[[float], float]
) -> None:
    path = score_file(tmp_path / "plain.csv")
    plain = study.calibrate(parameters({"scores": str(path)}))
    table = pd.read_csv(path, sep=";")
    table["score"] = raw(table["score"])
    table.to_csv(tmp_path / "engine.csv", index=False)
    values = {"scores": str(tmp_path / "engine.csv"), "metric": metric, "score_transform": formula}
    found = study.calibrate(parameters(values))
    assert (found.scores.contract.metric, found.scores.contract.score_transform) == (metric, formula)
    assert found.floor == pytest.approx(plain.floor, abs=1e-9)
    assert found.scores.contract.raw(found.floor or 0.0) == pytest.approx(raw(plain.floor or 0.0), abs=1e-9)
    believed = [said for said in found.caveats if said.startswith("The score file holds no vectors")]
    assert bool(believed) == (metric not in ("cosine_similarity", "cosine_distance"))


def test_distances_of_vectors_of_any_length_have_a_scale_of_their_own(tmp_path: Path) -> None:
    path = score_file(tmp_path / "plain.csv")
    table = pd.read_csv(path, sep=";")
    table["score"] = 9 - 9 * table["score"]
    table.to_csv(path, index=False)
    with pytest.raises(ContractError, match="declared metric or transform is wrong"):
        study.calibrate(parameters({"scores": str(path), "metric": "squared_l2"}))
    found = study.calibrate(parameters({"scores": str(path), "metric": "score", "score_transform": "-x"}))
    assert found.floor is not None
    assert 9 - 9 * 0.73 <= found.scores.contract.raw(found.floor) < 9 - 9 * 0.3


def test_a_wrong_direction_is_noticed(tmp_path: Path) -> None:
    path = score_file(tmp_path / "plain.csv")
    with pytest.raises(ContractError, match="lower is better"):
        study.calibrate(parameters({"scores": str(path), "metric": "cosine_distance"}))


def test_scores_of_another_kind_keep_their_scale(tmp_path: Path) -> None:
    path = score_file(tmp_path / "rerank.csv")
    path.write_text(path.read_text(encoding="utf-8").replace(";0.", ";70."), encoding="utf-8")
    found = study.calibrate(parameters({"scores": str(path), "metric": "score", "old_floor": 70.5}))
    assert found.floor is not None
    assert 70.3 < found.floor <= 70.73
    assert found.scores.contract.scale == "score"
