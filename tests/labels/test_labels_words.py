"""A refusal calls what it refuses by its name, and carried labels do not speak of what was left behind."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from calibration.errors import LabelError
from calibration.labels import Labels, carry_labels, read_answers, read_corpus, read_labels, read_probes
from calibration.labels.model import check_documents
from calibration.retrieval import read_signals
from calibration.sources.scorefile import read_scores


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (read_labels, "labels"),
        (read_corpus, "corpus"),
        (read_answers, "marked answers"),
        (lambda path: read_probes(path, languages=["en"]), "probes"),
        (read_scores, "score file"),
        (lambda path: read_signals(path, {"similarity": "cosine_similarity"}), "run log"),
    ],
)
def test_what_cannot_be_read_is_called_by_its_name(read: Callable[[Path], object], what: str, tmp_path: Path) -> None:
    with pytest.raises(LabelError) as refused:
        read(tmp_path / "nowhere.csv")
    assert str(refused.value).startswith(f"1 problem in the {what}:\n")


def test_an_orphan_of_the_old_corpus_is_not_called_kept() -> None:
    old = pd.DataFrame({"doc_id": ["p"], "text": ["refunds are paid within fourteen days of your request"]})
    queries = pd.DataFrame({"query_id": ["q"], "answerability": ["answerable"], "must": ["-"]})
    qrels = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["p", "gone"], "relevance": [1, 1]})
    labels = check_documents(Labels(queries, qrels, old, 1, "unknown"), {"p"}, allow_dangling=True)
    assert labels.warnings == ("1 judged document missing from the corpus: q/gone; kept, so recall cannot reach 1",)
    found = carry_labels(replace(labels, warnings=(*labels.warnings, "queries.csv: columns not used: x")), old)
    assert found.of_fate("orphaned")["doc_id"].tolist() == ["gone"]
    assert found.labels.warnings == (
        "1 judged document missing from the corpus: q/gone; left out, since there is no text to carry them by",
        "queries.csv: columns not used: x",
    )
