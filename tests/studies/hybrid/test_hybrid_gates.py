"""Gates of the hybrid study: the floors of each signal, alone and together, on queries they have not seen."""

from pathlib import Path

import numpy as np
import pandas as pd
from signal_logs import mixed_log, of_log

from calibration.contract import ScoreContract
from calibration.params import RunParams, validated
from calibration.retrieval import FUSIONS, Candidates
from calibration.studies.calibrate import calibrate
from calibration.studies.hybrid.candidates import Far
from calibration.studies.hybrid.floors import choose_own_floor, folds_of
from calibration.studies.hybrid.measure import auc, pass_through
from calibration.studies.hybrid.ties import tied_pair
from calibration.studies.hybrid.together import choose_beside


def test_auc_counts_ties_half() -> None:
    assert auc(np.array([1.0, -np.inf]), np.array([-np.inf])) == 0.75
    assert auc(np.array([]), np.array([1.0])) is None


def test_the_floor_of_a_signal_is_the_one_that_a_calibration_of_it_recommends(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    mixed_log().rename(columns={"similarity": "score"}).drop(columns="lexical").to_csv(path, index=False)
    found = of_log(str(path), "score=cosine_similarity").get("score")
    alone = calibrate(validated(RunParams, {"scores": str(path)}))
    assert found is not None
    assert found.floor is not None
    assert found.floor.floor == alone.choice.floor is not None
    assert found.floor.held_out_floors == alone.choice.held_out_floors


def test_unseen_rates_are_those_of_floors_chosen_without_the_query(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    mixed_log().to_csv(path, index=False)
    found = of_log(str(path), "similarity=cosine_similarity,lexical=ts_rank", top_k=3)
    near = found.get("similarity")
    assert near is not None
    assert near.floor is not None
    folds = folds_of(found.source.table, found.far, found.params.seed)
    rows = found.candidates.rows.set_index("query_id")["similarity"]
    kept = sum(rows[f"a{i}"] >= near.floor.held_out_floors[folds[f"a{i}"]] for i in range(24))
    false = sum(rows[f"x{i}"] >= near.floor.held_out_floors[folds[f"x{i}"]] for i in range(24))
    unseen = found.unseen["similarity floor"]
    assert (unseen["hit_rate"].numerator, unseen["hit_rate"].denominator) == (kept, 24)
    assert (unseen["false_answer_rate_off_topic"].numerator, 24) == (false, 24)
    assert len(set(near.floor.held_out_floors)) > 1, "the folds chose alike, so this shows nothing"


def test_a_second_floor_pays_only_for_what_the_first_leaves(tmp_path: Path) -> None:
    """Words alone must also keep the answers that vectors find, so they reach down among the off-topic queries."""
    path = tmp_path / "log.csv"
    mixed_log().to_csv(path, index=False)
    found = of_log(str(path), "similarity=cosine_similarity,lexical=ts_rank")
    args = (found.source.table, found.far, found.params)
    relevant = found.candidates.rows["query_id"].str.startswith("a").to_numpy()
    near, words = (
        choose_own_floor(found.candidates, name, relevant, *args, found.source.legs)
        for name in ("similarity", "lexical")
    )
    contract = found.candidates.contracts["similarity"]
    beside = choose_beside(near, contract, words, words.relevant, *args)
    assert beside.value is not None
    assert 0.05 < beside.value < 0.09, "the eight answers that only words find stand far above the noise"
    # a first floor that loses nothing leaves nothing to a second
    easy = near._replace(relevant=np.full(24, 0.99))
    assert choose_beside(easy, contract, words, words.relevant, *args).value is None
    # what the queries of a fold score has no say in the floor that they meet
    folds = folds_of(found.source.table, found.far, found.params.seed)
    mine = np.array([folds[f"a{i}"] == folds["a0"] for i in range(24)])
    theirs = np.array([folds[f"x{i}"] == folds["a0"] for i in range(24)])
    assert found.source.table["query_id"].tolist()[:2] == ["a0", "x0"]
    changed = words._replace(relevant=np.where(mine, 0.3, words.relevant), noise=np.where(theirs, 0.2, words.noise))
    again = choose_beside(near, contract, changed, words.relevant, *args)
    assert again.by_fold[folds["a0"]] == beside.by_fold[folds["a0"]]
    assert again.by_fold != beside.by_fold


def test_the_pair_is_of_the_noise_that_is_shown() -> None:
    """Few labelled off-topic queries give way to probes, and then none of them is in the figure."""
    ids = ["on", "off", "probe"]
    rows = pd.DataFrame({"query_id": ids, "doc_id": "d", "similarity": [0.8, 0.1, 0.2]})
    candidates = Candidates(ids, rows, {"similarity": ScoreContract()}).with_signal("rrf", [0.03] * 3, FUSIONS["rrf"])
    table = pd.DataFrame({"query_id": ids, "answerability": ["answerable", "off_topic", "off_topic"]})
    pair = tied_pair(candidates, np.array([True, False, False]), table, Far(("probe",), "probes"))
    assert pair is not None
    assert (pair.signal, pair.on_topic, pair.off_topic) == ("rrf", "on", "probe")


def test_a_pass_through_of_the_smallest_numbers_is_still_at_or_below() -> None:
    assert pass_through(np.array([1e-310, 1.0])) == 0.0
    assert pass_through(np.array([-1e-310, 1.0])) == -1e-310


def test_where_no_gate_is_worth_having_everything_passes(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    mixed_log().to_csv(path, index=False)
    found = of_log(str(path), "similarity=cosine_similarity", off_topic_share=0.0)
    assert not found.accept
    assert found.gated.passed.all()
    assert found.gated.counts["accepted"] == len(found.candidates.rows)
