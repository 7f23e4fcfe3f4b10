"""What changed between two fingerprints is named, and each change has a consequence."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from handmade import labels_of

from calibration.params import RunParams
from calibration.sources.arrays import ArraySource
from calibration.studies.check.staleness import Change, compare_fingerprints
from calibration.studies.fingerprint import fingerprint, sampled_ids, sketch
from calibration.studies.snapshot import corpus_sample

CONTRACT = {
    "metric": "cosine_similarity", "normalisation": "query_and_document_unit_l2", "threshold_inclusive": True,
    "embedding_version": "m@1", "tolerance": 1e-6, "unscored": "drop", "score_transform": "none",
}  # fmt: skip
PASSAGES = {f"d{i}": [f"text{i}", 1.0, i / 100] for i in range(20)}
MODEL = {
    "name": "m", "version": "1.0", "dimensions": 4, "query_prefix": "", "passage_prefix": "", "weights_sha256": "",
    "reference_hash": "r", "reference": [0.1, 0.2, 0.3], "digest": "aaaa",
}  # fmt: skip


def vector_of(text: str) -> np.ndarray:
    """A unit vector that depends on the text only."""
    values = np.random.default_rng(list(text.encode())).normal(size=16)
    return values / np.linalg.norm(values)


def facts_of(**parts: Any) -> dict[str, Any]:
    facts = {
        "model": dict(MODEL),
        "source": {},
        "corpus_hash": "c",
        "labels": {"hash": "l" * 64, "queries": 60, "judgements": 80, "rel_level": 1, "unjudged": "unknown"},
        "probes": {"hash": "p"},
        "sample": {"passages": copy.deepcopy(PASSAGES), "embedded_again": None},
    }
    return facts | parts


def printed(facts: dict[str, Any], *, documents: int = 100, contract: Any = None, **parameters: Any) -> dict[str, Any]:
    return fingerprint(facts, contract or CONTRACT, documents, RunParams(scores="s.csv", **parameters))


def compared(new: dict[str, Any], *, contract: Any = None, old: dict[str, Any] | None = None) -> list[Change]:
    return compare_fingerprints(old or printed(facts_of()), new, CONTRACT, contract or CONTRACT)


def told(changes: list[Change]) -> list[tuple[str, str]]:
    return [(change.part, change.consequence) for change in changes]


def model(**parts: Any) -> dict[str, Any]:
    return facts_of(model={**MODEL, "digest": "bbbb", **parts})


def sample(**passages: Any) -> dict[str, Any]:
    return facts_of(sample={"passages": {**PASSAGES, **passages}, "embedded_again": None}, corpus_hash="c2")


def test_nothing_changed() -> None:
    assert compared(printed(facts_of())) == []


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"name": "n"}, "the model is n, the floor was chosen for m."),
        ({"dimensions": 8}, "m gives 8 dimensions, it gave 4."),
        ({"query_prefix": "query: "}, "m puts 'query: ' before a query, it was ''."),
        ({"passage_prefix": "p: "}, "m puts 'p: ' before a passage, it was ''."),
        (
            {"reference": [0.1, 0.2, 0.9], "reference_hash": "s"},
            "another model answers under the name m: its reference embeddings moved by up to 0.6.",
        ),
        ({"weights_sha256": "w"}, "another model answers under the name m: the file of its weights is another."),
    ],
)
def test_another_model_is_stale_and_named(parts: dict[str, Any], words: str) -> None:
    changes = compared(printed(model(**parts)))
    assert told(changes) == [("model", "stale")]
    assert changes[0].words == words


def test_a_new_version_that_embeds_as_before_is_fine_and_rounding_is_nothing() -> None:
    changes = compared(printed(model(version="1.1")))
    assert told(changes) == [("model", "fine")]
    assert changes[0].words == "m comes in version 1.1, it was 1.0; it embeds as before."
    assert compared(printed(model(reference=[0.1, 0.2, 0.3009]))) == []


def test_scores_without_a_model_go_by_what_their_contract_declares() -> None:
    unnamed = facts_of(model={"name": None, "digest": None})
    other = {**CONTRACT, "embedding_version": "m@2"}
    changes = compare_fingerprints(printed(unnamed), printed(unnamed, contract=other), CONTRACT, other)
    assert ("model", "stale") in told(changes)
    assert compare_fingerprints(printed(unnamed), printed(unnamed), CONTRACT, CONTRACT) == []


def test_other_vectors_under_the_same_ids_are_stale_when_they_are_most() -> None:
    turned = {name: [text, length, -place - 0.5] for name, (text, length, place) in PASSAGES.items()}
    changes = compared(printed(sample(**turned)))
    assert told(changes) == [("corpus", "stale")]
    assert changes[0].words.startswith("20 of 20 sampled passages have other vectors under the same ids")
    few = compared(printed(sample(d3=["text3", 1.0, 0.9])))
    assert told(few) == [("corpus", "recheck")]
    rounded = {name: [text, length, place + 1e-4] for name, (text, length, place) in PASSAGES.items()}
    assert told(compared(printed(sample(**rounded)))) == [("corpus", "recheck")]  # its content hash is another


def test_a_corpus_that_was_chunked_anew_is_stale() -> None:
    gone = dict.fromkeys([f"d{i}" for i in range(8)])
    rewritten = {f"d{i}": ["other", 1.0, 0.5] for i in range(8, 12)}
    changes = compared(printed(sample(**gone, **rewritten)))
    assert told(changes) == [("corpus", "stale")]
    assert changes[0].words == (
        "of 20 sampled passages 8 are gone and 4 say something else; the corpus was chunked anew or replaced."
    )
    assert told(compared(printed(sample(d0=None)))) == [("corpus", "recheck")]


def test_growth_and_another_filter_are_to_be_checked() -> None:
    changes = compared(printed(facts_of(corpus_hash="c2"), documents=2000))
    assert [change.words for change in changes] == ["the corpus has 2,000 passages, it had 100."]
    changes = compared(printed(facts_of(source={"filter": "tenant = 'A'"})))
    assert [change.words for change in changes] == ["the corpus has tenant = 'A' as filter, it had none."]
    assert told(changes) == [("corpus", "recheck")]


@pytest.mark.parametrize(
    ("name", "value", "consequence"),
    [
        ("metric", "l2", "stale"),
        ("normalisation", "none", "stale"),
        ("threshold_inclusive", False, "stale"),
        ("score_transform", "sigmoid", "stale"),
        ("tolerance", 1e-4, "recheck"),
        ("unscored", "keep", "recheck"),
    ],
)
def test_the_contract_drifts(name: str, value: Any, consequence: str) -> None:
    contract = {**CONTRACT, name: value}
    changes = compared(printed(facts_of(), contract=contract), contract=contract)
    assert told(changes) == [("contract", consequence)]
    assert changes[0].words == f"{name.replace('_', ' ')} is {value}, it was {CONTRACT[name]}."


def test_a_field_that_an_earlier_version_did_not_write_has_not_changed() -> None:
    contract = {**CONTRACT, "brand_new": 1, "scale": "cosine similarity"}
    assert compared(printed(facts_of()), contract=contract) == []


def test_labels_and_policy_are_to_be_checked() -> None:
    labels = {"hash": "m" * 64, "queries": 61, "judgements": 80, "rel_level": 1, "unjudged": "unknown"}
    changes = compared(printed(facts_of(labels=labels, probes={"hash": "q"}), preset="refusal"))
    assert [change.words for change in changes] == [
        "the labels changed: 61 queries, it was 60.",
        "the probe queries are others.",
        "preset is refusal, the floor was chosen with balanced.",
    ]
    assert {change.consequence for change in changes} == {"recheck"}


def test_a_fingerprint_of_the_first_version_still_compares() -> None:
    old = {key: value for key, value in printed(facts_of()).items() if key not in ("details", "policy")}
    assert told(compared(printed(model()), old=old)) == [("model", "stale")]
    assert compared(printed(facts_of()), old=old) == []


def test_the_gravest_comes_first() -> None:
    changes = compared(printed(model(name="n"), documents=7, preset="refusal"))
    assert [change.consequence for change in changes] == ["stale", "recheck", "recheck"]


def test_c39_a_stored_passage_embedded_again_has_another_vector() -> None:
    """(b): the table names no model; only the vectors themselves can say who made them."""
    docs = [f"d{i}" for i in range(6)]
    labels = labels_of(["q"], [("q", doc, 1) for doc in docs])
    corpus = pd.DataFrame({"doc_id": docs, "title": None, "text": docs, "document_id": None})
    labels = type(labels)(labels.queries, labels.qrels, corpus, 1, "unknown")

    def today(texts: list[str], ids: Any) -> np.ndarray:
        return np.array([vector_of(text) for text in texts])

    own = {doc: vector_of(doc) for doc in docs}
    other = {doc: vector_of(f"other model: {doc}") for doc in docs}
    first = corpus_sample(ArraySource(docs, list(own.values())), labels, today)
    again = corpus_sample(ArraySource(docs, list({**own, "d2": other["d2"]}.values())), labels, today)
    assert first is not None
    assert again is not None
    assert first["embedded_again"]["checked"] == 6
    assert first["embedded_again"]["lowest"]["cosine"] == 1.0
    changes = compared(printed(facts_of(sample=again)), old=printed(facts_of(sample=first)))
    cosine = float(own["d2"] @ other["d2"])
    assert told(changes)[0] == ("model", "stale")
    assert changes[0].words == (
        f"passage d2, embedded today, has cosine {round(cosine, 4):.2f} with its stored vector, expected about 1.00: "
        "another model made what is stored."
    )


def test_a_cosine_that_was_low_from_the_beginning_is_how_things_are() -> None:
    def seen(cosine: float) -> dict[str, Any]:
        lowest = {"checked": 8, "lowest": {"doc_id": "d1", "cosine": cosine}}
        return printed(facts_of(sample={"passages": PASSAGES, "embedded_again": lowest}))

    assert compared(seen(0.85), old=seen(0.86)) == []
    assert told(compared(seen(0.7), old=seen(0.86))) == [("model", "stale")]
    assert told(compared(seen(0.03))) == [("model", "stale")]
    assert compared(seen(0.95)) == []


def test_the_hash_of_the_corpus_is_of_its_sampled_content() -> None:
    hashes = {printed(facts_of(sample={"passages": {"d": [text, 1.0, 0.5]}}))["corpus"] for text in ("a", "b", "a")}
    assert len(hashes) == 2


def test_the_sample_is_the_same_whatever_else_there_is() -> None:
    some = [f"d{i}" for i in range(200)]
    assert sampled_ids(some) == sampled_ids(list(reversed(some)))
    assert len(sampled_ids(some)) == 32
    grown = set(sampled_ids([*some, "new"]))
    assert len(grown ^ set(sampled_ids(some))) in (0, 2)


def test_a_sketch_tells_another_space_and_not_float32() -> None:
    vector = np.random.default_rng(1).normal(size=384)
    assert sketch(vector) == pytest.approx(sketch(vector.astype(np.float32)), abs=2e-5)
    rotated = np.linalg.qr(np.random.default_rng(2).normal(size=(384, 384)))[0] @ vector
    assert abs(sketch(vector)[1] - sketch(rotated)[1]) > 0.01
