"""Probe queries, and which languages of them a set of queries needs."""

import json
from pathlib import Path

import pandas as pd
import pytest

from calibration.errors import LabelError, ParameterError
from calibration.labels import detect_languages, probes, read_probes

ROWS = [
    {
        "query_id": "en-1",
        "text": "how far away is a star",
        "language": "en",
        "subject": "astronomy",
        "kind": "question",
    },
    {"query_id": "pl-1", "text": "przepis na bigos", "language": "pl", "subject": "cooking", "kind": "keywords"},
    {"query_id": "en-2", "text": "split hollandaise", "language": "en", "subject": "cooking", "kind": "keywords"},
]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def test_languages_and_subjects_choose_probes(tmp_path: Path) -> None:
    path = write(tmp_path / "probes.jsonl", ROWS)
    assert read_probes(path, languages=["pl", "en"])["query_id"].tolist() == ["en-1", "pl-1", "en-2"]
    chosen = read_probes(path, languages=("en",), exclude_subjects=["astronomy"])
    assert chosen.to_dict("records") == [ROWS[2]]
    assert isinstance(chosen.index, pd.RangeIndex)


def test_the_bundled_file_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "probes.jsonl", ROWS)
    monkeypatch.setattr(probes, "bundled", lambda name: {"data": tmp_path}[name])
    assert len(read_probes(languages=["en"])) == 2


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"languages": ["en", "it"]}, "unknown 'it'; known: en, pl"),
        ({"languages": ["en"], "exclude_subjects": ["cars"]}, "unknown 'cars'; known: astronomy, cooking"),
        ({"languages": "en"}, "expected a list"),
        ({"languages": []}, "no probe is left"),
        ({"languages": ["pl"], "exclude_subjects": ["cooking"]}, "no probe is left"),
    ],
)
def test_choices_that_are_refused(tmp_path: Path, choice: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_probes(write(tmp_path / "probes.jsonl", ROWS), **choice)


def test_damaged_probes_are_all_listed(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="2 problems") as caught:
        read_probes(
            write(tmp_path / "probes.jsonl", [*ROWS, ROWS[0], {**ROWS[1], "query_id": "x", "text": ""}]),
            languages=["en"],
        )
    assert "probes.jsonl lines 1 and 4: query id 'en-1' more than once" in str(caught.value)
    assert "probes.jsonl line 5: text is empty or blank" in str(caught.value)


ENGLISH = ["How do I cancel my subscription before it renews?", "Where can I find last year's invoices?"]
GERMAN = ["Wie kann ich mein Abonnement vor der Verlängerung kündigen?"]
POLISH = ["Gdzie znajdę faktury z zeszłego roku?"]
JAPANESE = ["解約するにはどうすればよいですか。"]


def test_languages_of_texts() -> None:
    assert detect_languages(ENGLISH) == ("en",)
    assert detect_languages(JAPANESE + POLISH + ENGLISH + GERMAN) == ("en", "pl", "de", "ja")
    assert detect_languages(
        ["¿Cómo cancelo mi suscripción este mes?", "Comment résilier mon abonnement ce mois-ci ?"]
    ) == (
        "es",
        "fr",
    )


def test_a_language_counts_from_a_tenth_of_the_texts() -> None:
    assert detect_languages(ENGLISH[:1] * 9 + GERMAN) == ("en", "de")
    assert detect_languages(ENGLISH[:1] * 10 + GERMAN) == ("en",)


def test_codes_and_missing_texts_have_no_vote() -> None:
    codes = ["E4107", "KB-204417", "F-118", "  ", *pd.Series([None], dtype="str")]
    assert detect_languages(ENGLISH + codes) == ("en",)
    assert detect_languages([]) == ()
    assert detect_languages(["", " "]) == ()


def test_the_librarys_shared_identifier_is_left_alone() -> None:
    import py3langid

    detect_languages(ENGLISH)
    assert py3langid.classify("Questa frase è scritta nella lingua italiana, senza alcun dubbio.")[0] == "it"
