"""inspect() of language models: the attention of a text as it is."""

import json

import numpy as np
import pytest

import qkv
from conftest import small

text = "I am cold today"


@pytest.fixture(scope="module", params=["causal", "masked"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "train.txt").write_text(f"{text}\nGo on now\nthe rain is cold\n" * 9)
    options = {**small, "architecture": request.param, "tokenizer": "character", "max_steps": 2}
    options["decoder_layers" if request.param == "causal" else "encoder_layers"] = 3
    trained = qkv.train(model=folder / "model", train=folder / "train.txt", **options)
    return request.param, trained.model


def test_a_text_has_the_weights_of_every_layer_and_head(model):
    kind, folder = model
    seen = (qkv.Generator if kind == "causal" else qkv.MaskFiller)(folder).inspect(text)
    [maps] = seen.attention
    assert maps.title == "self-attention" and str(seen) == seen.source == text
    assert [layer.shape for layer in maps.layers] == [(2, len(maps.rows), len(maps.columns))] * 3
    assert all(np.allclose(layer.sum(-1), 1, atol=1e-5) for layer in maps.layers)
    drawn = json.loads(seen.heatmap().json())
    assert drawn["groups"][0]["panels"][5]["title"] == "layer 2, head 1"
    assert drawn["metadata"] == {"text": text, "log-probability": f"{seen.log_probability:.4f}"}
    if kind == "causal":
        assert maps.rows[:-1] == maps.columns[1:] and "shifted by one" in maps.caption
        assert all((np.triu(layer, 1) == 0).all() for layer in maps.layers), "no query sees what comes after it"
        assert np.isclose(sum(seen.token_log_probabilities), seen.log_probability, atol=1e-4)
    else:
        assert maps.rows == maps.columns and maps.caption == ""


def test_masks_are_filled(model):
    kind, folder = model
    if kind == "masked":
        filler = qkv.MaskFiller(folder)
        seen = filler.inspect("I am <?> today", marker="<?>")
        assert str(seen) == str(filler.fill("I am <?> today", marker="<?>"))
        assert "<?>" in seen.attention[0].rows
        assert json.loads(seen.heatmap().json())["metadata"]["filled"] == str(seen)


def test_what_is_not_a_text_is_a_type_error(model):
    kind, folder = model
    with pytest.raises(TypeError):
        (qkv.Generator if kind == "causal" else qkv.MaskFiller)(folder).inspect(["a", "b"])


def test_weights_are_saved_as_arrays(model, tmp_path):
    kind, folder = model
    seen = (qkv.Generator if kind == "causal" else qkv.MaskFiller)(folder).inspect(text)
    [maps] = seen.attention
    assert maps.use == ("decoder" if kind == "causal" else "encoder")
    seen.save(tmp_path / "weights.npz", rollout=True)
    with np.load(tmp_path / "weights.npz") as saved:
        for n, layer in enumerate(maps.layers):
            assert saved[f"{maps.use}.{n}"].dtype == np.float32 and (saved[f"{maps.use}.{n}"] == layer).all()
        assert saved[f"{maps.use}.rows"].tolist() == maps.rows
        assert saved[f"{maps.use}.columns"].tolist() == maps.columns
        assert (saved[f"{maps.use}.rollout"] == maps.rollout()).all()
        assert len(saved.files) == 6
    seen.save(tmp_path / "weights.npy")
    assert (np.load(tmp_path / "weights.npy") == np.stack(maps.layers)).all()
    with pytest.raises(ValueError, match=".npz or .npy"):
        seen.save(tmp_path / "weights.svg")


def test_rollout_is_the_product_of_half_weights_and_half_identity():
    random = np.random.default_rng(1)
    layers = random.random((3, 2, 5, 5))
    layers /= layers.sum(-1, keepdims=True)
    wanted = np.eye(5)
    for layer in layers:
        wanted = (layer.mean(0) / 2 + np.eye(5) / 2) @ wanted
    assert np.allclose(qkv.attention_rollout(list(layers)), wanted, atol=1e-6)
    with pytest.raises(ValueError, match="layers must be"):
        qkv.attention_rollout([np.ones((2, 5, 4))])


def test_pattern_strengths_are_mean_weights():
    weights = np.random.default_rng(2).random((3, 6, 6)).astype(np.float32)
    keys = ["a", "b", ".", "a", "b", "c"]
    found = qkv.pattern_strengths(weights, keys)
    along = {d: np.diagonal(weights, d, 1, 2).mean(-1) for d in range(-3, 4)}
    wanted = {
        "previous": along[-1],
        "current": along[0],
        "next": along[1],
        "distance": np.max([along[d] for d in (-3, -2, 2, 3)], axis=0),
        "same": (weights[:, 3, 0] + weights[:, 4, 1]) / 2,
        "induction": (weights[:, 3, 1] + weights[:, 4, 2]) / 2,
        "diagonal": np.full(3, np.nan),
        "first": weights[:, 1:, 0].mean(-1),
        "separator": weights[:, :, 2].mean(-1),
    }
    assert found.keys() == wanted.keys()
    for name, strength in wanted.items():
        assert np.allclose(found[name], strength, equal_nan=True), name


def test_the_loss_without_heads(model):
    kind, folder = model
    if kind == "masked":
        filler = qkv.MaskFiller(folder)
        whole, without = filler.inspect(text), filler.inspect(text, ablate="encoder.0.self")
        assert not np.allclose(whole.attention[0].layers[2], without.attention[0].layers[2])
        found = filler.ablate("layers", [text, "Go on now"])
        assert found.texts == 2 and found.tokens > 2 and found.whole.bleu is None
        assert found.ablated[0].name == "encoder.0.self"
        assert found.ablated[0].loss != found.whole.loss
        return
    generator = qkv.Generator(folder)
    found = generator.ablate(["decoder.1.self.0", "decoder.0.self,decoder.1.self.1"], [text, "Go on now"])
    assert np.isclose(found.whole.perplexity, generator.perplexity([text, "Go on now"]))
    assert [one.name for one in found.ablated] == ["decoder.1.self.0", "decoder.0.self,decoder.1.self.1"]
    seen = generator.inspect(text, ablate="decoder.1.self.0")
    assert np.isclose(
        -seen.log_probability / len(seen.tokens), generator.ablate("decoder.1.self.0", text).ablated[0].loss
    )
    assert len(generator.ablate("all", text).ablated) == 6 and found.texts == 2
    with pytest.raises(ValueError, match="not a head of this model"):
        generator.inspect(text, ablate="decoder.9.self")
    repeated = generator.repeated_tokens(length=5, seed=3)
    assert repeated.columns[1:5] == repeated.columns[6:] and len(repeated.pattern_strengths()) == 3


def test_a_translator_without_heads_loses_bleu(translator):
    sources, references = ["one two", "three four"], ["12", "34"]
    found = translator.ablate("layers", sources, references)
    assert [one.name for one in found.ablated] == ["encoder.0.self", "decoder.0.self", "decoder.0.cross"]
    scores = translator.score(sources, references)
    tokens = sum(len(s.tokens) for s in scores)
    assert np.isclose(found.whole.loss, -sum(s.log_probability for s in scores) / tokens) and found.tokens == tokens
    assert found.ablated[2].loss > found.whole.loss + 0.5, "without cross-attention it knows nothing of the source"
    assert translator.ablate("layers", sources, references, bleu=False).whole.bleu is None
