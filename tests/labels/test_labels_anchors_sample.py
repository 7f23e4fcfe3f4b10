"""The bundled sample, cut to half the size without ids or documents to go by."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from calibration.labels import carry_labels, read_labels
from calibration.resources import bundled


def halves(text: str) -> list[str]:
    paragraphs = text.split("\n\n")
    lengths = np.cumsum([len(paragraph.split()) for paragraph in paragraphs])
    cut = int(np.argmin(np.abs(lengths[:-1] - lengths[-1] / 2))) + 1
    return ["\n\n".join(paragraphs[:cut]), "\n\n".join(paragraphs[cut:])]


def words_of(size: int, step: int) -> Callable[[str], list[str]]:
    def cut(text: str) -> list[str]:
        words = text.split()
        return [" ".join(words[start : start + size]) for start in range(0, max(len(words) - size + step, 1), step)]

    return cut


@pytest.mark.parametrize("cut", [halves, words_of(140, 140), words_of(140, 110)], ids=["halves", "words", "overlap"])
def test_the_sample_cut_to_half_the_size_keeps_its_labels(cut: Callable[[str], list[str]]) -> None:
    """Without ids or documents to go by: at least 95 % are carried, none to another passage's text."""
    labels = read_labels(bundled("data") / "sample", rel_level=2)
    assert labels.corpus is not None
    rows = labels.corpus.to_dict("records")
    pieces = [(row["doc_id"], f"{row['title']}\n{part}") for row in rows for part in cut(row["text"])]
    new = pd.DataFrame({"doc_id": [f"n{i}" for i in range(len(pieces))], "text": [text for _, text in pieces]})
    source = dict(zip(new["doc_id"], (doc for doc, _ in pieces), strict=True))
    found = carry_labels(labels, new)
    assert found.carried >= 0.95 * len(labels.qrels)
    assert len(found.of_fate("orphaned")) == len(labels.qrels) - found.carried
    assert found.bereft == ()
    for row in found.fates.to_dict("records"):
        assert {source[name] for name in row["carried_to"]} <= {row["doc_id"]}


def test_the_sample_as_it_is_keeps_everything() -> None:
    labels = read_labels(bundled("data") / "sample", rel_level=2)
    assert labels.corpus is not None
    found = carry_labels(labels, labels.corpus)
    assert found.counts()["kept"] == len(labels.qrels)
    assert found.labels.content_hash() == labels.content_hash()
    assert found.to_review().empty
