"""Vectors of sentences, and what classes for models of one stack say of a translation model."""

import numpy as np
import pytest

import qkv

sentences = ["four two", "", "nine nine", "one"]


@pytest.fixture(scope="module")
def embedder(trained):
    return qkv.Embedder(trained.model)


def test_a_vector_for_each_sentence_in_order(embedder):
    vectors = embedder.embed(sentences)
    assert vectors.shape == (4, embedder.width) and vectors.dtype == np.float32 and embedder.width == 32
    for sentence, vector in zip(sentences, vectors):
        assert np.array_equal(embedder.embed(sentence), vector)
    assert embedder.embed([]).shape == (0, 32)
    assert embedder.config["d_model"] == 32 and repr(embedder).startswith("qkv.Embedder(")


def test_options_are_those_of_the_command(embedder):
    unit = embedder.embed(sentences, normalize=True)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed(sentences, pooling="mean"), embedder.embed(sentences))
    assert not np.array_equal(embedder.embed(sentences, pooling="first"), embedder.embed(sentences, pooling="last"))
    for pooling in ("max", "mean-sqrt-length"):
        assert embedder.embed(sentences, pooling=pooling).shape == (4, embedder.width)
    with pytest.raises(ValueError, match="pooling must be one of .*, got 'middle'"):
        embedder.embed(sentences, pooling="middle")


def test_weights_are_held_in_the_format_asked_for(trained, embedder):
    half = qkv.Embedder(trained.model, weights="bf16")
    assert "weights bf16" in half.describe() and "weights bf16" not in embedder.describe()
    difference = np.abs(half.embed(sentences) - embedder.embed(sentences)).max()
    assert 0 < difference < 0.05
    same = qkv.Embedder.from_pretrained(trained.model, weights="f32")
    assert np.array_equal(same.embed(sentences), embedder.embed(sentences))
    with pytest.raises(ValueError, match="Embedder: weights must be one of f32, bf16, int8, .*, got 'int7'"):
        qkv.Embedder(trained.model, weights="int7")


def test_products_in_bf16_are_close_and_exclude_weights_in_place(trained, embedder):
    rounded = qkv.Embedder(trained.model, precision="bf16")
    difference = np.abs(rounded.embed(sentences) - embedder.embed(sentences)).max()
    assert 0 < difference < 0.05
    with pytest.raises(ValueError, match="map uses weights in place"):
        qkv.Embedder(trained.model, precision="bf16", map=True)
    with pytest.raises(ValueError, match="Embedder: precision must be one of f32, bf16, got 'f16'"):
        qkv.Embedder(trained.model, precision="f16")


def test_weights_in_place_have_the_same_results(trained, embedder):
    mapped = qkv.Embedder.from_pretrained(trained.model, map=True)
    assert np.array_equal(mapped.embed(sentences), embedder.embed(sentences))


def test_a_sentence_that_is_cut_is_a_warning(embedder):
    with pytest.warns(UserWarning, match="1 of 2 sentences"):
        embedder.embed(["one", "one " * 5000])


@pytest.mark.parametrize("kind", [qkv.Generator, qkv.MaskFiller])
def test_a_translation_model_is_refused_by_its_architecture(trained, kind):
    with pytest.raises(ValueError, match="the architecture of this model is transformer: it does not"):
        kind(trained.model)
