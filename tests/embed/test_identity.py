"""Which model is it: by what it does, not by what it is called."""

import dataclasses
import json

import numpy as np
import pytest

from calibration.embed import ModelIdentity, open_embedder
from calibration.embed.identity import reference_hash, reference_sketch

RNG = np.random.default_rng(7)
QUERIES, PASSAGES = RNG.normal(size=(2, 4, 16))


def identity(queries: np.ndarray, passages: np.ndarray, **changes: object) -> ModelIdentity:
    reference = reference_sketch(queries, passages)
    fields = {
        "name": "openai:m",
        "version": "",
        "dimensions": 16,
        "query_prefix": "",
        "passage_prefix": "",
        "reference_hash": reference_hash(reference),
        "reference": reference,
    }
    return ModelIdentity(**{**fields, **changes})


def test_noise_on_an_edge_flips_the_hash_but_not_the_match():
    reference = (0.5, 0.125)
    on_edge = identity(QUERIES, PASSAGES, reference=reference, reference_hash=reference_hash(reference))
    noisy = tuple(number + 1e-4 for number in reference)
    other = dataclasses.replace(on_edge, reference=noisy, reference_hash=reference_hash(noisy))
    assert on_edge.digest != other.digest
    assert on_edge.matches(other)


def test_float_noise_moves_nothing():
    noise = RNG.normal(scale=1e-9, size=QUERIES.shape)
    assert identity(QUERIES, PASSAGES).digest == identity(QUERIES + noise, PASSAGES).digest


@pytest.mark.parametrize(
    "change",
    [
        lambda q, p: (q, p[::-1]),  # another model
        lambda q, p: (q[:, ::-1], p[:, ::-1]),  # the same space, rotated: every cosine is equal
        lambda q, p: (q / np.linalg.norm(q, axis=1, keepdims=True), p),  # the server began to normalise
    ],
)
def test_a_swapped_model_is_another_identity(change):
    before, after = identity(QUERIES, PASSAGES), identity(*change(QUERIES, PASSAGES))
    assert before.digest != after.digest
    assert not before.matches(after)


@pytest.mark.parametrize("field", ["name", "version", "query_prefix", "passage_prefix"])
def test_everything_declared_is_part_of_it(field):
    before = identity(QUERIES, PASSAGES)
    after = dataclasses.replace(before, **{field: "other"})
    assert before.digest != after.digest
    assert not before.matches(after)


def test_visible_weights_decide_alone():
    before = identity(QUERIES, PASSAGES, weights_sha256="a")
    other_processor = identity(QUERIES * 1.01, PASSAGES[::-1], weights_sha256="a")
    assert before.digest == other_processor.digest
    assert not before.matches(dataclasses.replace(before, weights_sha256="b"))


def test_offline_identity_is_the_same_in_two_objects_and_json(models):
    first, second = models["wordllama"].identity(), open_embedder("wordllama").identity()
    assert first == second
    assert json.loads(json.dumps(first.to_dict()))["digest"] == second.digest
    assert len({model.identity().digest for model in models.values()}) == 3


def test_e5_prefixes_are_in_the_identity(models):
    found = models["e5"].identity()
    assert (found.name, found.query_prefix, found.passage_prefix) == ("multilingual-e5-small", "query: ", "passage: ")
