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
