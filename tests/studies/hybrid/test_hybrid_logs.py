"""The hybrid study on run logs of other systems, written by hand."""

from pathlib import Path

import jsonschema
import pytest
from signal_logs import LOG, mixed_log, of_log, written

from calibration.errors import ParameterError
from calibration.params import validated
from calibration.result import dumps, hybrid_document, hybrid_schema
from calibration.studies.hybrid.params import HybridParams


def test_c43_a_log_with_rrf_is_refused_a_floor_and_shown_the_tie(tmp_path: Path) -> None:
    rows = [
        *(f"on{i},a,{0.6 + i / 100},{5 + i},0.0327869,1,answerable" for i in range(8)),
        *(f"off{i},a,{0.1 + i / 100},,0.0327869,,off_topic" for i in range(8)),
    ]
    found = of_log(written(tmp_path, [*LOG, *rows]), "similarity=cosine_similarity,lexical=score,fused=rrf")
    fused, near = found.get("fused"), found.get("similarity")
    assert fused is not None
    assert near is not None
    assert fused.auc == 0.5, "the same value for every query tells nothing"
    assert near.auc == 1.0
    assert "ranks only" in fused.refused
    assert fused.kept is None
    assert set(found.floors) == {"similarity"} | ({"lexical"} if "lexical" in found.floors else set())


def test_c49_a_weighted_sum_has_a_range_of_its_own(tmp_path: Path) -> None:
    rows = [f"q{i},a,0.62,,0.434,1,answerable" for i in range(6)]
    found = of_log(written(tmp_path, [*LOG, *rows]), "similarity=cosine_similarity,fused=weighted_sum")
    fused, near = found.get("fused"), found.get("similarity")
    assert fused is not None
    assert near is not None
    assert fused.kept is not None
    assert near.kept is not None
    assert (near.kept.numerator, near.kept.denominator) == (6, 6)
    assert (fused.kept.numerator, fused.kept.denominator) == (0, 6), "0.5 was made for cosine"
    assert fused.summary["max"] == 0.434


def test_unscored_candidates_follow_their_policy_and_are_counted(tmp_path: Path) -> None:
    rows = [
        *(f"on{i},a,{0.5 + i / 100},,0.03,1,answerable" for i in range(10)),
        *(f"on{i},b,,,0.02,,answerable" for i in range(10)),
        *(f"off{i},a,{0.1 + i / 100},,0.03,,off_topic" for i in range(10)),
        "off0,z,0.0,,0.01,,off_topic",
    ]
    path = written(tmp_path, [*LOG, *rows])
    dropped, kept = (
        of_log(path, "similarity=cosine_similarity,fused=rrf", unscored=policy) for policy in ("drop", "keep")
    )
    assert dropped.gated.counts == {"accepted": 10, "rejected": 11, "unscored": 10, "exempt": 0}
    assert kept.gated.counts == dropped.gated.counts
    assert dropped.gated.passed.sum() == 10
    assert kept.gated.passed.sum() == 20
    near = dropped.get("similarity")
    assert near is not None
    assert near.summary["not_scored"] == 10
    assert near.summary["min"] == 0.0
    assert hybrid_document(kept)["gate"]["unscored"] == "keep"


def test_a_log_without_similarity_says_what_is_missing(tmp_path: Path) -> None:
    found = of_log(written(tmp_path, [*LOG, "q,a,,2.0,0.03,1,answerable"]), "lexical=score,fused=rrf")
    assert any("holds no similarity" in caveat for caveat in found.caveats)
    assert any("No off-topic query is labelled" in caveat for caveat in found.caveats)
    assert found.before.empty
    assert found.recommended is None
    assert dumps(hybrid_document(found))


def test_a_leg_that_finds_next_to_nothing_is_said(tmp_path: Path) -> None:
    rows = [f"q{i},a,0.62,,0.434,1,answerable" for i in range(6)]
    found = of_log(
        written(tmp_path, [*LOG, *rows, "q0,b,0.1,0.5,0.1,,answerable"]), "similarity=cosine_similarity,lexical=ts_rank"
    )
    assert any("Words find a candidate for only 1 of 6 queries" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"signals": "x.csv"}, "a run log needs signal_metrics"),
        ({"signal_metrics": "a=rrf"}, "give signals or trec_runs"),
        ({"trec_runs": "a=x.run", "signal_metrics": "a=rrf"}, "trec_runs need qrels"),
        ({"signals": "x.csv", "signal_metrics": "a=rrf", "labels": "here"}, "brings its own labels: labels"),
        ({"signals": "x.csv", "signal_metrics": "a=rrf", "vectors": "v.npz"}, "vectors cannot be used with it"),
        ({"scores": "x.csv"}, "a score file holds one score"),
        ({"text_column": "body"}, "text_column is a column of `table`"),
        ({"trec_runs": "x.run", "signal_metrics": "a=rrf"}, "expected signal=value pairs"),
        ({"vector_weight": 2.0}, "vector_weight"),
        ({"unscored": "maybe"}, "unscored"),
        ({"rerank": "https://u:pw@host/rerank"}, "must not carry a password"),
        ({"rerank": "cross-encoder"}, "an address that starts with http"),
    ],
)
def test_contradictory_parameters_are_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        validated(HybridParams, values)


def test_a_logs_own_fusion_orders_its_candidates_and_carries_the_gate_after(tmp_path: Path) -> None:
    frame = mixed_log().assign(final=lambda rows: rows["similarity"] + rows["lexical"])
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    metrics = "similarity=cosine_similarity,lexical=ts_rank"
    assert of_log(str(path), metrics).order == "rrf"
    own = of_log(str(path), f"{metrics},final=weighted_sum")
    assert (own.order, own.gated_after) == ("final", "final")
    assert own.after["threshold"].max() > frame["final"].max()


def test_a_curve_lets_the_exempt_and_the_kept_unscored_pass_at_every_threshold(tmp_path: Path) -> None:
    rows = [
        *(f"on{i},a,{0.5 + i / 100},,{int(i < 3)},1,answerable" for i in range(10)),
        *(f"un{i},a,,,0,1,answerable" for i in range(4)),
        *(f"off{i},a,{0.1 + i / 100},,0,,off_topic" for i in range(10)),
    ]
    path = written(tmp_path, ["query_id,doc_id,similarity,fused,exempt,relevance,answerability", *rows])
    dropped, kept = (of_log(path, "similarity=cosine_similarity", unscored=policy) for policy in ("drop", "keep"))
    assert dropped.before["found_without"].tolist() == [14] * len(dropped.before)
    assert (dropped.before["found"].iloc[0], dropped.before["found"].iloc[-1]) == (10, 3)
    assert (kept.before["found"].iloc[0], kept.before["found"].iloc[-1]) == (14, 7)


def test_an_exemption_that_changes_makes_the_study_anew(tmp_path: Path) -> None:
    header = "query_id,doc_id,similarity,exempt,relevance,answerability"
    hashes = [
        of_log(
            written(tmp_path, [header, f"q,a,0.4,{yes},1,answerable"], f"{yes}.csv"), "similarity=cosine_similarity"
        ).source.content_hash()
        for yes in (0, 1)
    ]
    assert hashes[0] != hashes[1]


ANSWERS = [
    *(f"on{i},a,{0.6 + i / 100},{5 + i},0.03,1,answerable" for i in range(8)),
    *(f"off{i},a,{0.1 + i / 100},,0.03,,off_topic" for i in range(8)),
    "m,a,0.5,,0.02,,missing_answer",
]


@pytest.mark.parametrize(
    ("rows", "metrics"),
    [
        (ANSWERS, "similarity=cosine_similarity,lexical=score,fused=rrf"),
        (ANSWERS, "similarity=cosine_similarity,fused=weighted_sum"),
        (ANSWERS, "lexical=score,fused=rrf"),
        (["q,a,0.4,2.0,0.03,1,answerable"], "similarity=cosine_similarity,lexical=score"),
        (["q,a,,,0.03,1,answerable"], "fused=rrf"),
    ],
)
def test_the_document_of_any_log_keeps_to_its_schema(tmp_path: Path, rows: list[str], metrics: str) -> None:
    document = hybrid_document(of_log(written(tmp_path, [*LOG, *rows]), metrics))
    check = jsonschema.Draft202012Validator(hybrid_schema())
    check.validate(document)
    for broken in ({**document, "texts": []}, {**document, "schema_version": 2}, {**document, "gate": {}}):
        assert not check.is_valid(broken)
