"""Folders of published models in Python: searching, pooling, languages, and weights that overflow."""

import json
import pathlib
import shutil

import numpy as np
import pytest

import qkv

checkpoints = pathlib.Path(__file__).parents[2] / "test" / "checkpoints"
pytestmark = pytest.mark.skipif(not checkpoints.exists(), reason="the sources of the library")


@pytest.fixture
def published(tmp_path):
    def copy(name):
        return shutil.copytree(checkpoints / name, tmp_path / name)

    return copy


def test_inspect_finds_what_translate_finds(published):
    folder = published("bart")
    settings = {"num_beams": 3, "max_length": 9, "min_length": 7, "length_penalty": 0.1}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    translator = qkv.Translator.from_pretrained(folder)
    for sentence in ("the cold rain", "it is", "a dog and the cat"):
        assert translator.inspect(sentence).text == translator.translate(sentence).text
        assert len(translator.translate(sentence).tokens) >= 6
        assert translator.inspect(sentence, beam=1).text == translator.translate(sentence, beam=1).text
    given = translator.inspect("it is", "the cat")
    assert given.text == "the cat" and given.log_probability < 0


def test_vectors_of_every_pooling(published):
    folder = published("minilm")
    of_one = qkv.Embedder.from_pretrained(folder)
    sentences = ["the cat sat", "a dog"]
    poolings = ("mean", "first", "last", "max", "mean-sqrt-length")
    found = {p: of_one.embed(sentences, pooling=p, normalize=True) for p in poolings}
    for name, vectors in found.items():
        assert vectors.shape == (2, of_one.width)
        assert not any(np.array_equal(vectors, other) for p, other in found.items() if p != name)
    assert np.array_equal(of_one.embed(sentences), found["mean"])
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": ["mean", "cls"]}))
    of_two = qkv.Embedder(folder)
    both = of_two.embed(sentences)
    assert both.shape == (2, 2 * of_one.width) == (2, of_two.width)
    for part, name in ((both[:, : of_one.width], "mean"), (both[:, of_one.width :], "first")):
        assert np.allclose(part / np.linalg.norm(part, axis=1, keepdims=True), found[name], atol=1e-6)


def test_a_language_is_one_of_the_model(published):
    translator = qkv.Translator(published("m2m100"))
    for option in ("source_language", "target_language"):  # "de" is a piece of this vocabulary
        with pytest.raises(ValueError, match="'de' is not one of the 3 languages .* did you mean deu_Latn"):
            translator.translate("the cat", **{option: "de"})
    assert translator.translate("the cat", source_language="eng_Latn") == translator.translate("the cat")


def test_caches_are_held_in_the_format_asked_for(published):
    folder = published("gpt2")
    exact = qkv.Generator(folder).generate("the cat", max_tokens=8, temperature=0)
    half = qkv.Generator.from_pretrained(folder, cache="bf16").generate("the cat", max_tokens=8, temperature=0)
    assert half.log_probability != exact.log_probability
    assert half.log_probability == pytest.approx(exact.log_probability, abs=0.1)
    with pytest.raises(ValueError, match="Translator: cache must be one of f32, bf16, int8, got 'int4'"):
        qkv.Translator(published("m2m100"), cache="int4")


def test_weights_that_overflow_are_named(published):
    file = published("gpt2") / "model.safetensors"
    bytes_of_file = bytearray(file.read_bytes())
    begin = 8 + int.from_bytes(bytes_of_file[:8], "little")
    numbers = np.frombuffer(bytes_of_file, np.float32, offset=begin)
    numbers[:] = 3e38
    file.write_bytes(bytes_of_file)
    generator = qkv.Generator(file.parent)
    for attempt in (lambda: generator.generate("the cat"), lambda: generator.score(["the cat"])):
        with pytest.raises(ValueError, match="^the model computes .infinity or NaN"):
            attempt()
