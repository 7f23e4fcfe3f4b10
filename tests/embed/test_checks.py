"""Vectors are looked at before anyone compares them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.embed import check_texts, check_vectors, measured_norms
from calibration.errors import EmbeddingError


def test_c12_norm_of_a_shortened_vector():
    norms = measured_norms(np.array([[0.6, 0.0]], dtype=np.float32))
    assert norms.min == norms.max == pytest.approx(0.6)
    assert (norms.not_unit, norms.first, norms.unit) == (1, (0,), False)


@pytest.mark.parametrize(("length", "off"), [(1.0009, 0), (1.0011, 1), (0.9991, 0), (0.9989, 1)])
def test_c12_tolerance_is_one_in_a_thousand(length, off):
    assert measured_norms([[length, 0.0]]).not_unit == off


def test_zeros_and_nan_are_counted():
    norms = measured_norms(np.array([[1, 0], [0, 0], [np.nan, 1], [0, 0]], dtype=np.float32))
    assert (norms.zero, norms.not_unit, norms.first) == (2, 3, (1, 2, 3))


def test_no_vectors_have_no_norms():
    norms = measured_norms(np.empty((0, 3), dtype=np.float32))
    assert np.isnan(norms.min)
    assert (norms.not_unit, norms.zero, norms.unit) == (0, 0, True)


def test_float32_is_measured_in_double():
    vectors = np.full((3, 3072), 1 / np.sqrt(3072), dtype=np.float32)
    assert measured_norms(vectors).max == pytest.approx(1.0, abs=1e-7)


@given(st.integers(1, 6), st.data())
def test_every_broken_row_is_named_and_no_other(n, data):
    bad = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    vectors = np.ones((n, 3), dtype=np.float32)
    for row in bad:
        vectors[row, row % 3] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    with pytest.raises(EmbeddingError) as caught:
        check_vectors(vectors, n, 3, [f"t{row}" for row in range(n)])
    assert {line.split(":")[0].strip(" -") for line in str(caught.value).splitlines()[1:]} == {f"t{row}" for row in bad}


@pytest.mark.parametrize(
    ("vectors", "n", "dimensions", "message"),
    [
        (np.ones((2, 3)), 3, 3, "expected 3 vectors, one for each text, found 2"),
        (np.ones((2, 3)), 2, 4, "expected vectors of 4 dimensions, found 3"),
        (np.ones((2, 0)), 2, None, "at least 1 dimensions, found 0"),
        (np.ones(3), 3, None, "shape"),
        (np.array([["a"]]), 1, None, "type"),
        (np.array([[True]]), 1, None, "type bool"),
    ],
)
def test_shapes_are_refused(vectors, n, dimensions, message):
    with pytest.raises(EmbeddingError, match=message):
        check_vectors(vectors, n, dimensions)


def test_zero_is_a_value():
    check_vectors([[0.0, 0.0]], 1, 2)


def test_one_string_is_not_a_list_of_texts():
    with pytest.raises(EmbeddingError, match="one string"):
        check_texts("alpha")


def test_texts_and_ids_must_pair():
    with pytest.raises(EmbeddingError, match="1 ids for 2 texts"):
        check_texts(["a", "b"], ["q1"])


def test_all_kinds_of_bad_text_at_once():
    with pytest.raises(EmbeddingError) as caught:
        check_texts(["ok", None, "\u3000", "a\0", "é\udfff", "0"])  # type: ignore[list-item]
    assert [line.split(":")[0] for line in str(caught.value).splitlines()[1:]] == [
        f"  - input {n}" for n in (1, 2, 3, 4)
    ]
