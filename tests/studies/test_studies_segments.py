"""Floors per collection: where a query's collection comes from, and when one of its own pays."""

from dataclasses import replace

import numpy as np
import pandas as pd
from handmade import Row, calibration_of, labels_of, probes_of, scores_of

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.params import RunParams
from calibration.studies.analyse import analyse
from calibration.studies.segments import NONE, collections_of


def corpus_of(collections: dict[str, str | None], documents: dict[str, str] | None = None) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "doc_id": list(collections),
            "title": "",
            "text": "text",
            "document_id": [(documents or {}).get(doc) for doc in collections],
            "collection": list(collections.values()),
        }
    )


def test_a_query_is_of_the_collection_it_names_else_of_the_one_its_answers_are_in() -> None:
    qrels = [("q1", "a1", 1), ("q2", "a1", 1), ("q2", "b1", 1), ("q3", "b1", 1), ("q3", "a1", 0), ("q4", "n1", 1)]
    labels = labels_of(["q1", "q2", "q3", "q4", "q5"], qrels)
    assert collections_of(labels) == {}
    placed = replace(labels, corpus=corpus_of({"a1": "A", "b1": "B", "n1": None}))
    assert collections_of(placed) == {"q1": "A", "q3": "B"}
    named = placed.queries.assign(collection=pd.Series(["Z", None, None, None, "Y"], dtype="str"))
    assert collections_of(replace(placed, queries=named)) == {"q1": "Z", "q3": "B", "q5": "Y"}
    of_documents = replace(labels_of(["q"], [("q", "D", 1)]), corpus=corpus_of({"p": "A"}, {"p": "D"}))
    assert collections_of(of_documents) == {"q": "A"}


def two_collections(shift: float, *, name: bool = True) -> tuple[Labels, list[Row]]:
    """Sixty questions to each of two collections, whose answers and own off-topic questions lie `shift` apart."""
    rng = np.random.default_rng(3)
    rows: list[Row] = []
    kinds, qrels, of = {}, [], []
    for collection, more in (("low", 0.0), ("high", shift)):
        for i in range(60):
            answerable, off = f"{collection}-a{i}", f"{collection}-o{i}"
            kinds |= {answerable: "answerable", off: "off_topic"}
            qrels.append((answerable, "d", 1))
            rows += [(answerable, "d", rng.normal(0.5 + more, 0.05)), (off, "d", rng.normal(0.3 + more, 0.05))]
            of += [collection, collection]
    labels = labels_of(kinds, qrels)
    return replace(labels, queries=labels.queries.assign(collection=of)) if name else labels, rows


def test_a_collection_that_lies_higher_earns_a_floor_and_one_like_the_others_does_not() -> None:
    found = calibration_of(*two_collections(0.25))
    assert found.segments is None, "all are of one kind"
    assert found.collections is not None
    high, low = found.collections.segments
    assert (high.name, high.n, high.n_noise, high.recommended) == ("high", 60, 60, True)
    assert found.floor is not None
    assert high.pooled > found.floor
    assert not low.recommended
    alike = calibration_of(*two_collections(0.0)).collections
    assert alike is not None
    assert not any(segment.recommended for segment in alike.segments)
    assert calibration_of(*two_collections(0.25, name=False)).collections is None


def test_queries_of_several_collections_stand_apart_and_probes_are_everybodys_noise() -> None:
    labels, rows = two_collections(0.25)
    probes = [f"p{i}" for i in range(30)]
    rows = [row for row in rows if "-o" not in row[0]] + [(probe, "d", 0.2 + i / 300) for i, probe in enumerate(probes)]
    kept = labels.queries[labels.queries["answerability"] == "answerable"].reset_index(drop=True)
    kept.loc[:9, "collection"] = None
    labels = replace(labels, queries=kept)
    scores = scores_of(labels, rows, probes=probes, contract=ScoreContract())
    found = analyse(scores, labels, probes_of(probes), RunParams(scores="s.csv"), name="made", facts={}).collections
    assert found is not None
    assert {segment.name: (segment.n, segment.n_noise) for segment in found.segments} == {
        "high": (60, 30), "low": (50, 30), NONE: (10, 30),
    }  # fmt: skip
