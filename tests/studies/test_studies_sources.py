"""Vectors and scores that are ready: what needs a model, what does not, and what is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibration import RunParams
from calibration.embed import open_embedder
from calibration.errors import EmbeddingError, LabelError, ParameterError, StoreError
from calibration.studies import calibrate as study
from calibration.studies import stage
from calibration.studies.inspect import inspect_question
from calibration.studies.progress import SILENT

Params = Callable[..., RunParams]


@pytest.fixture
def queries(labels_folder: Path) -> pd.DataFrame:
    return pd.read_json(labels_folder / "queries.jsonl", lines=True)


@pytest.fixture
def vector_file(
    tmp_path: Path, queries: pd.DataFrame, passages: list[dict[str, str]], wordllama_vectors: np.ndarray
) -> Path:
    path = tmp_path / "vectors.npz"
    np.savez(
        path,
        query_ids=queries["_id"].to_numpy(dtype=str),
        query_vectors=open_embedder("wordllama").embed(queries["text"].tolist(), "query"),
        doc_ids=np.array([passage["_id"] for passage in passages]),
        doc_vectors=wordllama_vectors,
    )
    return path


def changed(path: Path, **arrays: object) -> Path:
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    np.savez(path, **{name: value for name, value in {**kept, **arrays}.items() if value is not None})
    return path


def test_vectors_with_their_model_give_what_the_embedded_server_gives(small_params: Params, vector_file: Path) -> None:
    ready, loaded = study.calibrate(small_params(vectors=str(vector_file))), study.calibrate(small_params())
    assert ready.floor == pytest.approx(loaded.floor, abs=1e-6)
    assert len(ready.bands["probes"]) == 100
    assert ready.facts["source"]["kind"] == "arrays"


def test_vectors_without_a_model_have_no_probes_and_need_none(small_params: Params, vector_file: Path) -> None:
    """Four labelled off-topic queries are then all the far noise there is."""
    found = study.calibrate(small_params(vectors=str(vector_file), model=None))
    assert found.name == "vectors"
    assert len(found.bands["probes"]) == 0
    assert found.bands.far_noise_source == "labelled off-topic queries"
    assert found.facts["model"] == {"name": None, "digest": None, "embedded": 0, "reused": 0}


def test_query_vectors_may_be_left_to_the_model(small_params: Params, vector_file: Path) -> None:
    changed(vector_file, query_ids=None, query_vectors=None)
    assert study.calibrate(small_params(vectors=str(vector_file))).floor is not None
    with pytest.raises(EmbeddingError, match="no model is named"):
        study.calibrate(small_params(vectors=str(vector_file), model=None))


def test_vectors_of_other_texts_are_pulled_again(
    small_params: Params, vector_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content counts, not the file's name, size or time."""
    params = small_params(vectors=str(vector_file))
    first, times = study.pull(params), (vector_file.stat().st_atime_ns, vector_file.stat().st_mtime_ns)
    with np.load(vector_file) as file:
        flipped = np.ascontiguousarray(file["doc_vectors"][::-1])
    size = vector_file.stat().st_size
    changed(vector_file, doc_vectors=flipped)
    import os

    os.utime(vector_file, ns=times)
    assert vector_file.stat().st_size == size
    assert study.pull(params).content_hash() != first.content_hash()


def test_a_query_without_a_vector_is_named(small_params: Params, vector_file: Path, queries: pd.DataFrame) -> None:
    with np.load(vector_file) as file:
        ids, vectors = file["query_ids"][1:], file["query_vectors"][1:]
    changed(vector_file, query_ids=ids, query_vectors=vectors)
    with pytest.raises(StoreError, match=f"1 of 19 queries have no vector.*\n.*{queries['_id'][0]}"):
        study.pull(small_params(vectors=str(vector_file)))


def test_a_judged_passage_without_a_vector_is_refused_also_after_it_was_allowed(
    small_params: Params, vector_file: Path
) -> None:
    with np.load(vector_file) as file:
        ids, vectors = file["doc_ids"][1:], file["doc_vectors"][1:]
    changed(vector_file, doc_ids=ids, doc_vectors=vectors)
    allowed = study.calibrate(small_params(vectors=str(vector_file), allow_dangling=True))
    assert any("not in the corpus" in said for said in allowed.caveats)
    with pytest.raises(LabelError, match="missing from the corpus"):
        study.pull(small_params(vectors=str(vector_file)))


def test_a_model_of_another_width_is_refused(small_params: Params, vector_file: Path) -> None:
    with pytest.raises(EmbeddingError, match="minilm gives 384 dimensions, the query vectors of the file have 256"):
        study.pull(small_params(vectors=str(vector_file), model="minilm"))


def test_inspect_works_on_vectors_of_a_named_model(small_params: Params, vector_file: Path) -> None:
    found = inspect_question("refund", small_params(vectors=str(vector_file)), limit=3)
    assert len(found.hits) == 3
    assert found.hits["preview"].notna().all()
    with pytest.raises(ParameterError, match="needs a model"):
        inspect_question("refund", small_params(vectors=str(vector_file), model=None))


def test_a_kept_pull_is_what_was_pulled(small_params: Params) -> None:
    pulled = study.pull(small_params(k_max=7))
    assert stage.find(pulled.key) is not None
    again = study.pull(small_params(k_max=7))
    assert again.content_hash() == pulled.content_hash()
    pd.testing.assert_frame_equal(again.scores.top, pulled.scores.top)
    pd.testing.assert_frame_equal(again.scores.judged, pulled.scores.judged)
    np.testing.assert_array_equal(again.scores.histogram.counts, pulled.scores.histogram.counts)


@pytest.mark.parametrize("name", ["about.json", "top.parquet", "judged.parquet", "everything.parquet", "histogram.npz"])
@pytest.mark.parametrize("damage", ["cut", "empty", "gone"])
def test_a_damaged_pull_is_pulled_again_and_replaced(
    small_params: Params, run_cache: Path, name: str, damage: str
) -> None:
    pulled = study.pull(small_params(k_max=8))
    path = run_cache / "pulls" / pulled.key / name
    if damage == "gone":
        if name == "everything.parquet":
            return  # absent means "too large to be kept", and is valid
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 60])
    assert stage.find(pulled.key) is None
    assert not path.parent.exists()
    assert study.pull(small_params(k_max=8)).content_hash() == pulled.content_hash()
    assert stage.find(pulled.key) is not None


def test_old_pulls_and_remains_are_swept_when_one_is_kept(small_params: Params, run_cache: Path) -> None:
    import os
    import time

    day = 86400
    kept = study.pull(small_params()).key
    for name, age in (
        (".partial-x", 2 * day),
        ("once-old", 2 * day),
        ("once-new", 10),
        ("parts-once-old", 2 * day),
        ("parts-new", 2 * day),
        ("old", 31 * day),
        ("new", day),
    ):
        folder = run_cache / "pulls" / name
        folder.mkdir()
        os.utime(folder, (time.time() - age, time.time() - age))
    study.pull(small_params(k_max=9))
    left = {path.name for path in (run_cache / "pulls").iterdir()}
    assert {"once-new", "new", "parts-new", kept} <= left
    assert not {".partial-x", "once-old", "parts-once-old", "old"} & left
    for name in ("once-new", "new", "parts-new"):
        (run_cache / "pulls" / name).rmdir()


def test_what_cannot_be_opened_is_refused_before_anything_is_read(small_params: Params) -> None:
    with pytest.raises(ParameterError, match="Did you mean 'wordllama'"):
        study.check(small_params(model="wordlama"))
    with pytest.raises(ParameterError, match="384 dimensions; 512 cannot be had"):
        study.check(small_params(model="minilm", dimensions=512))
    study.check(small_params())


def test_texts_stay_out_unless_asked_for(small_params: Params) -> None:
    assert study.calibrate(small_params()).texts == {}
    texts = study.calibrate(small_params(show_text=True)).texts
    assert len(texts) == 19 + 100 + 24


def test_a_silent_reporter_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with SILENT.bar("x", 1, "y") as step:
        step(1)
    SILENT.note("z")
    assert capsys.readouterr() == ("", "")


def cut_corpus(folder: Path, labels_folder: Path) -> Path:
    """The small set with every two passages cut from one document."""
    shutil.copytree(labels_folder, folder)
    rows = pd.read_json(labels_folder / "corpus.jsonl", lines=True)
    rows["document_id"] = [f"doc{number // 2}" for number in range(len(rows))]
    rows.to_json(folder / "corpus.jsonl", orient="records", lines=True, force_ascii=False)
    return folder


def test_judged_passages_of_documents_stay_passages(
    small_params: Params, labels_folder: Path, tmp_path: Path, run_cache: Path
) -> None:
    """A corpus that names documents is scored by passage while its judgements name passages."""
    folder = cut_corpus(tmp_path / "cut", labels_folder)
    plain, cut = study.calibrate(small_params()), study.calibrate(small_params(labels=str(folder)))
    assert cut.scores.level == "passage"
    assert cut.floor == pytest.approx(plain.floor, abs=1e-6)


def test_judged_passages_and_documents_together_are_refused(
    small_params: Params, labels_folder: Path, tmp_path: Path
) -> None:
    folder = cut_corpus(tmp_path / "cut", labels_folder)
    lines = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    query = lines[1].split("\t")[0]
    (folder / "qrels.tsv").write_text("\n".join([*lines, f"{query}\tdoc3\t2"]) + "\n", encoding="utf-8")
    with pytest.raises(LabelError, match=r"passages \(such as .*\) and 1 are documents \(such as 'doc3'\)"):
        study.calibrate(small_params(labels=str(folder)))
