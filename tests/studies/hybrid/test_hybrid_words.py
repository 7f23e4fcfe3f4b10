"""The lexical leg is searched once: kept by what was searched, and for a live table within one invocation only."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from calibration.params import validated
from calibration.studies.calibrate import SESSION
from calibration.studies.hybrid import words
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.hybrid.source import open_source
from calibration.studies.progress import SILENT


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the searches that were made."""
    made: list[str] = []
    for name in ("search_texts", "search_table"):
        real = getattr(words, name)

        def counting(*args: object, name: str = name, real: Callable[..., object] = real, **more: object) -> object:
            made.append(name)
            return real(*args, **more)

        monkeypatch.setattr(words, name, counting)
    return made


def params_of(labels: Path, **more: object) -> HybridParams:
    values = {"labels": str(labels), "rel_level": 1, "languages": "pl", "model": "wordllama", **more}
    return validated(HybridParams, values)


def files(cache: Path) -> set[Path]:
    return set((cache / "pulls").glob("parts-*/words.parquet"))


def test_words_are_searched_once_and_anew_when_anything_differs(
    small_params: Callable[..., object], labels_folder: Path, run_cache: Path, searched: list[str]
) -> None:
    small_params()  # sets the cache
    before = files(run_cache)
    params = params_of(labels_folder, depth=143)  # a depth that no other test of this cache asks for
    first = open_source(params, SILENT)
    again = open_source(params, SILENT)
    assert searched == ["search_texts"]
    pd.testing.assert_frame_equal(again.legs["lexical"].rows, first.legs["lexical"].rows)
    assert again.content_hash() == first.content_hash()
    (path,) = files(run_cache) - before
    assert list(pd.read_parquet(path)) == ["query_id", "doc_id", "score", "rank"], "ids and scores, no texts"
    assert [one.name for one in path.parent.iterdir()] == ["words.parquet"], "no half-written file is left"
    open_source(params_of(labels_folder, depth=143, text_rank="ts_rank_cd"), SILENT)
    open_source(params_of(labels_folder, depth=161), SILENT)
    assert len(searched) == 3
    for damage in (b"", b"PAR1 damaged PAR1"):
        path.write_bytes(damage)
        repaired = open_source(params, SILENT)
        assert repaired.content_hash() == first.content_hash()
    assert len(searched) == 5


def test_a_live_table_is_searched_anew_by_every_invocation(
    database: object,
    small_params: Callable[..., object],
    labels_folder: Path,
    searched: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with database.owner() as owner:  # type: ignore[attr-defined]
        owner.execute("CREATE TABLE live AS SELECT *, 'refund of a premium' AS body FROM docs WHERE tenant = 'A'")
        owner.execute("GRANT SELECT ON live TO reader")
    small_params()  # sets the cache and the password
    params = params_of(
        labels_folder,
        languages=["pl"],
        dsn=database.dsn,
        table="live",
        text_column="body",  # type: ignore[attr-defined]
    )
    for _ in range(2):
        open_source(params, SILENT)
    assert searched == ["search_table"] * 2
    for name in ("one", "one", "two"):
        monkeypatch.setenv(SESSION, name)
        open_source(params, SILENT)
    assert searched == ["search_table"] * 4
    with database.owner() as owner:  # type: ignore[attr-defined]
        owner.execute("DROP TABLE live")
