"""The cache: nothing twice, nothing wrong, whatever happens to the process or the file."""

import dataclasses
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scripted_server import Scripted, answering, failing, honest, vector_of

from calibration.embed import MODELS, VectorCache, open_embedder
from calibration.embed.local import LocalEmbedder
from calibration.errors import EmbeddingError, StoreError

TEXTS = [f"text number {n}" for n in range(40)]
CHILD = """
import dataclasses, sys
from calibration.embed import MODELS, VectorCache
from calibration.embed.local import LocalEmbedder
model = LocalEmbedder(dataclasses.replace(MODELS["wordllama"], chunk=1))
texts = [f"text number {n}" for n in range(int(sys.argv[2]))]
VectorCache(sys.argv[1]).embed(model, texts, "passage", lambda n: print(n, flush=True))
"""


def child(folder, n: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(folder), str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def test_second_call_embeds_nothing(tmp_path, models):
    cache, seen = VectorCache(tmp_path), []
    first = cache.embed(models["wordllama"], TEXTS, "passage")
    assert (cache.embedded, cache.reused) == (40, 0)
    again = VectorCache(tmp_path)
    second = again.embed(open_embedder("wordllama"), TEXTS[::-1], "passage", seen.append)
    assert (again.embedded, again.reused, again.damaged) == (0, 40, 0)
    assert sum(seen) == 40
    assert np.array_equal(first, second[::-1])
    assert np.array_equal(first, models["wordllama"].embed(TEXTS, "passage"))


def test_roles_and_models_are_apart(tmp_path, models):
    cache = VectorCache(tmp_path)
    for name in ("e5", "minilm"):
        for role in ("query", "passage"):
            assert np.array_equal(cache.embed(models[name], ["a b c"], role), models[name].embed(["a b c"], role))
    assert (cache.embedded, cache.reused) == (4, 0)


def test_repeated_texts_are_embedded_once(tmp_path, scripted: Scripted):
    cache, seen = VectorCache(tmp_path), []
    vectors = cache.embed(scripted.embedder(), ["a", "b", "a", "a"], "query", seen.append)
    assert scripted.requests[-1]["input"] == ["a", "b"]
    assert np.array_equal(vectors, [vector_of(text) for text in "abaa"])
    assert (cache.embedded, cache.reused, sum(seen)) == (2, 2, 4)


def test_truncated_texts_are_counted_from_the_store_too(tmp_path):
    texts = ["word " * 300, "short", "word " * 300]
    for _ in range(2):
        cache = VectorCache(tmp_path)
        cache.embed(open_embedder("minilm"), texts, "passage")
        assert cache.truncated == 2


def test_no_text_is_kept(tmp_path, models):
    VectorCache(tmp_path).embed(models["wordllama"], ["a confidential sentence"], "passage")
    assert all(b"confidential" not in path.read_bytes() for path in tmp_path.iterdir())


def test_c78_blank_texts_are_refused_before_the_model_is_asked(tmp_path, scripted: Scripted):
    with pytest.raises(EmbeddingError, match="q2: blank"):
        VectorCache(tmp_path).embed(scripted.embedder(), ["a", " "], "query", ids=["q1", "q2"])
    assert scripted.requests == []
    assert list(tmp_path.iterdir()) == []


def test_c83_what_was_embedded_is_kept_and_the_rest_follows(tmp_path, scripted: Scripted):
    model = scripted.embedder(max_batch_texts=1)
    model.identity()
    scripted.script.append(honest)
    scripted.default = failing(429)
    with pytest.raises(EmbeddingError, match=r"embedded 1 of 2 batches[\s\S]*1 finished vectors are kept"):
        VectorCache(tmp_path).embed(model, ["a", "b"], "query")
    scripted.default = honest
    cache = VectorCache(tmp_path)
    vectors = cache.embed(model, ["a", "b"], "query")
    assert np.array_equal(vectors, [vector_of("a"), vector_of("b")])
    assert (cache.embedded, cache.reused) == (1, 1)


def test_a_wrong_reply_is_never_kept_and_ids_follow_the_missing(tmp_path, scripted: Scripted):
    model = scripted.embedder()
    cache = VectorCache(tmp_path)
    cache.embed(model, ["a"], "query")
    scripted.script.append(answering((0, [None, 0.0, 0.0, 1.0])))
    with pytest.raises(EmbeddingError, match="q2: 1 of 4 components null"):
        cache.embed(model, ["a", "b"], "query", ids=["q1", "q2"])
    assert np.array_equal(cache.embed(model, ["b"], "query"), [vector_of("b")])


def test_a_swapped_model_under_one_name_finds_nothing(tmp_path, scripted: Scripted):
    cache = VectorCache(tmp_path)
    cache.embed(scripted.embedder(), ["a"], "query")
    scripted.default = lambda request: honest({**request, "input": [text + "!" for text in request["input"]]})
    assert np.array_equal(cache.embed(scripted.embedder(), ["a"], "query"), [vector_of("a!")])
    assert (cache.embedded, cache.reused) == (2, 0)


def test_a_noisy_server_is_still_the_same_model(tmp_path, scripted: Scripted):
    def noisy(request):
        vectors = [vector_of(text) + np.float32(7e-4) for text in request["input"]]
        return answering(*((index, vector.tolist()) for index, vector in enumerate(vectors)))(request)

    cache = VectorCache(tmp_path)
    before = scripted.embedder()
    cache.embed(before, ["a"], "query")
    scripted.default = noisy
    after = scripted.embedder()
    cache.embed(after, ["a"], "query")
    assert before.identity().digest != after.identity().digest  # a rounded number lay on an edge
    assert (cache.embedded, cache.reused) == (1, 1)


def test_killed_in_the_middle_of_a_request_and_continued(tmp_path, scripted: Scripted):
    code = (
        "import sys\nfrom calibration.embed import VectorCache, open_embedder\n"
        "model = open_embedder('openai:scripted', base_url=sys.argv[2], max_batch_texts=1)\n"
        "VectorCache(sys.argv[1]).embed(model, [f'text number {n}' for n in range(40)], 'passage')\n"
    )
    reached, release = threading.Event(), threading.Event()

    def stuck(request):
        reached.set()
        release.wait(20)

    scripted.script.extend([honest] * (8 + 5) + [stuck])  # the reference texts in two roles, then five texts
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), scripted.url])
    try:
        assert reached.wait(20)
    finally:
        process.kill()
        process.wait()
        release.set()
    cache = VectorCache(tmp_path)
    vectors = cache.embed(scripted.embedder(), TEXTS, "passage")
    assert (cache.embedded, cache.reused) == (35, 5)
    assert np.array_equal(vectors, [vector_of(text) for text in TEXTS])


@pytest.mark.parametrize("finished", [1, 7, 150])
def test_killed_at_any_moment_and_continued(tmp_path, models, finished):
    process = child(tmp_path, 3000)
    try:
        for _ in range(finished):
            process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
    texts = [f"text number {n}" for n in range(3000)]
    cache = VectorCache(tmp_path)
    vectors = cache.embed(models["wordllama"], texts, "passage")
    assert cache.reused >= finished
    assert cache.embedded + cache.reused == 3000
    assert cache.embedded > 0
    assert cache.damaged == 0
    assert np.array_equal(vectors, models["wordllama"].embed(texts, "passage"))


def test_processes_that_start_together_share_one_file(tmp_path, models):
    processes = [child(tmp_path / "new", 200) for _ in range(4)]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert all(sum(map(int, output.split())) == 200 for output in outputs)
    cache = VectorCache(tmp_path / "new")
    texts = [f"text number {n}" for n in range(200)]
    assert np.array_equal(
        cache.embed(models["wordllama"], texts, "passage"), models["wordllama"].embed(texts, "passage")
    )
    assert cache.embedded == 0


def test_a_changed_vector_is_found_out_and_made_again(tmp_path, models):
    right = VectorCache(tmp_path).embed(models["wordllama"], TEXTS, "passage")
    with sqlite3.connect(VectorCache(tmp_path).path) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(1024) WHERE rowid = 3")
        connection.execute("UPDATE vectors SET vector = substr(vector, 5) WHERE rowid = 4")
        connection.execute("UPDATE vectors SET vector = NULL, truncated = 'x' WHERE 0")
        first, second = (
            connection.execute("SELECT vector FROM vectors WHERE rowid = ?", (row,)).fetchone()[0] for row in (5, 6)
        )
        connection.execute("UPDATE vectors SET vector = ? WHERE rowid = 5", (second,))
        connection.execute("UPDATE vectors SET vector = ? WHERE rowid = 6", (first,))
    connection.close()
    cache = VectorCache(tmp_path)
    assert np.array_equal(cache.embed(models["wordllama"], TEXTS, "passage"), right)
    assert (cache.damaged, cache.embedded, cache.reused) == (4, 4, 36)
    assert VectorCache(tmp_path).embed(models["wordllama"], TEXTS, "passage").tobytes() == right.tobytes()


def test_random_damage_never_gives_a_wrong_vector(tmp_path, models):
    right = VectorCache(tmp_path / "whole").embed(models["wordllama"], TEXTS, "passage")
    rng, refused = np.random.default_rng(3), 0
    for trial in range(60):
        folder = tmp_path / str(trial)
        shutil.copytree(tmp_path / "whole", folder)
        path = VectorCache(folder).path
        data = bytearray(path.read_bytes())
        start = int(rng.integers(len(data)))
        size = int(rng.integers(1, 400))
        data[start : start + size] = rng.bytes(len(data[start : start + size]))
        path.write_bytes(data if trial % 3 else data[:start])
        cache = VectorCache(folder)
        try:
            assert np.array_equal(cache.embed(models["wordllama"], TEXTS, "passage"), right)
        except StoreError:
            refused += 1
    assert 0 < refused < 60


def test_a_file_that_is_no_cache_is_left_alone(tmp_path, models):
    path = VectorCache(tmp_path).path
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(StoreError, match=r"cannot be used.*remove it"):
        VectorCache(tmp_path).embed(models["wordllama"], ["a"], "query")
    assert path.read_bytes().startswith(b"something else")


def test_a_folder_that_cannot_be_made(tmp_path, models):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be used"):
        VectorCache(tmp_path / "file").embed(models["wordllama"], ["a"], "query")


def test_an_error_of_the_model_is_not_blamed_on_the_cache(tmp_path):
    spec = dataclasses.replace(MODELS["wordllama"], files=dict.fromkeys(MODELS["wordllama"].files, "0"))
    with pytest.raises(EmbeddingError, match="sha256"):
        VectorCache(tmp_path).embed(LocalEmbedder(spec), ["a"], "query")


def test_a_hundred_thousand_vectors_are_read_in_seconds(tmp_path):
    from calibration.embed.store import open_store

    keys = [n.to_bytes(32, "big") for n in range(100_000)]
    vectors = np.random.default_rng(0).normal(size=(100_000, 64)).astype(np.float32)
    with open_store(tmp_path / "v.sqlite") as store:
        store.write("m/query", keys, vectors, [False] * len(keys))
        start = time.perf_counter()
        count = sum(found.vector is not None for found in store.read("m/query", keys, 64))
    assert count == 100_000
    assert time.perf_counter() - start < 10  # about half a second on an idle machine
