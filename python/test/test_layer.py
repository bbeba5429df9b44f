"""qkv.MultiHeadAttention beside its formula."""

import numpy as np
import pytest

import plain
import qkv
from formula import numbers

x, memory = numbers(2, 7, 32, seed=1), numbers(2, 9, 20, seed=2)


def linear(layer, name, y):
    p = layer.parameters()
    return y @ p[f"{name}.weight"].T.astype(np.float64) + p[f"{name}.bias"]


def heads(y, count):
    return y.reshape(*y.shape[:2], count, -1).swapaxes(1, 2)


def by_formula(layer, query, key, visible=None, H=4, G=4):
    q, k, v = (
        heads(linear(layer, n, y), c) for n, y, c in (("query", query, H), ("key", key, G), ("value", key, G))
    )
    out, weights, _ = plain.attention(q, k, v, visible=visible)
    return linear(layer, "out", out.swapaxes(1, 2).reshape(*query.shape[:2], -1)), weights


def expect_near(got, wanted):
    assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5


def test_self_attention_is_its_formula():
    layer = qkv.MultiHeadAttention(32, 4, kv_heads=2)
    with np.errstate(divide="ignore"):
        wanted, weights = by_formula(layer, x, x, np.tri(7, dtype=bool), G=2)
    y, w = layer(x, mask=qkv.causal(), return_weights=True)
    expect_near(y, wanted)
    expect_near(w, weights)
    assert np.array_equal(layer(x, mask=qkv.mask_mod(lambda b, h, i, j: j <= i)), y)


def test_cross_attention_is_its_formula():
    layer = qkv.MultiHeadAttention(32, 4, key_width=20, value_width=20, use="cross")
    expect_near(layer(x, memory), by_formula(layer, x, memory)[0])


def test_widths_of_heads_and_sources_are_free():
    layer = qkv.MultiHeadAttention(32, 3, head_width=8, query_width=20)
    shapes = {name: value.shape for name, value in layer.parameters().items()}
    assert (
        shapes["query.weight"] == (24, 20) and shapes["key.weight"] == (24, 32) and shapes["out.weight"] == (32, 24)
    )
    assert layer(memory, x).shape == (*memory.shape[:2], 32)


def test_queries_and_keys_are_normalized_on_request():
    layer = qkv.MultiHeadAttention(32, 4, query_key_norm=True)
    before = layer(x)
    larger = {name: 3 * value for name, value in layer.parameters().items() if name.startswith(("query.", "key."))}
    layer.load(larger)
    # Not exactly: a norm adds eps to the variance.
    assert np.abs(layer(x) - before).max() < 1e-3
    plain = qkv.MultiHeadAttention(32, 4)
    before = plain(x)
    plain.load({name: 3 * plain.parameters()[name] for name in larger if name in plain.parameters()})
    assert np.abs(plain(x) - before).max() > 1e-2


@pytest.mark.parametrize("variant", ["full", "window=3", "rotary+softcap=5"])
def test_steps_give_what_one_call_gives(variant):
    layer = qkv.MultiHeadAttention(32, 4, variant=variant, use="decoder")
    cache = qkv.AttentionCache()
    steps = np.concatenate([layer.step(x[:, n : n + 1], cache) for n in range(7)], 1)
    expect_near(steps, layer(x, mask=qkv.causal()))
    assert cache.length == len(cache) == 7
    cache.reorder([1, 1])
    y = layer.step(x[:, :1], cache)
    assert y.shape == (2, 1, 32)


def test_parameters_can_be_set():
    a, b = qkv.MultiHeadAttention(32, 4, seed=1), qkv.MultiHeadAttention(32, 4, seed=2)
    assert not np.array_equal(a(x), b(x))
    b.load(a.parameters())
    assert np.array_equal(a(x), b(x)) and set(a.parameters()) >= {"query.weight", "out.bias"}
    with pytest.raises(ValueError, match=r"query.weight is \(32, 32\), got \(3, 3\)"):
        a.load({"query.weight": np.ones((3, 3))})
    with pytest.raises(ValueError, match="there is no parameter 'qeury.weight'"):
        a.load({"qeury.weight": np.ones((32, 32))})


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="heads 5 must divide d_model 32"):
        qkv.MultiHeadAttention(32, 5)
    with pytest.raises(ValueError, match="MultiHeadAttention: variant: .*'widnow'"):
        qkv.MultiHeadAttention(32, 4, variant="widnow=3")
    with pytest.raises(ValueError, match="use must be encoder, decoder or cross, got 'both'"):
        qkv.MultiHeadAttention(32, 4, use="both")


def test_a_layer_is_described_by_itself():
    text = qkv.describe_layer("attention d=512 heads=8 kv-heads=2 no-bias window=2", target_length=100)
    assert "655,360" in text  # 2 * 512^2 + 2 * 512 * 128
    assert "4.94 of 100 keys" in text  # 5 keys, at the two ends 3 and 4
    with pytest.raises(ValueError, match="'widnow=2' is neither"):
        qkv.describe_layer("attention d=512 heads=8 widnow=2")
