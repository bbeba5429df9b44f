"""AttentionCost, compare_attention() and explain_model()."""

import numpy as np
import pytest

import qkv


def test_the_cost_counts_the_weights_that_are_not_zero():
    x = np.random.default_rng(1).normal(size=(1, 2, 40, 8)).astype(np.float32)
    _, weights = qkv.attention(x, x, x, mask=qkv.causal() & qkv.window(5), return_weights=True)
    cost = qkv.AttentionCost("window=5", heads=2, head_width=8, queries=40, causal=True)
    assert cost.visible_pairs == np.count_nonzero(weights)
    assert cost.pairs == 2 * 40 * 40
    assert cost.flops == 4 * 8 * cost.visible_pairs
    assert cost.bytes == 4 * x.nbytes
    assert cost.intensity == pytest.approx(cost.flops / cost.bytes)
    assert cost.cache_bytes == 2 * x.nbytes
    assert qkv.AttentionCost("stored", heads=2, head_width=8, queries=40).added_memory == weights.nbytes
    assert "backward" in str(cost) and "Growth" in str(cost)
    assert cost.growth().svg().startswith("<svg")
    assert repr(cost) == "<qkv.AttentionCost: 450 of 3,200 pairs, 1.44e+04 FLOP>"


def test_a_comparison_has_rows_a_table_and_a_plot():
    found = qkv.compare_attention(["full", "kv-heads=1+window=4"], sweep="length=16..32", heads=2, head_width=8)
    assert [(row["mechanism"], row["length"]) for row in found.rows] == [
        ("full", 16),
        ("kv-heads=1+window=4", 16),
        ("full", 32),
        ("kv-heads=1+window=4", 32),
    ]
    assert found.rows[2]["visible_pairs"] == 2 * 32 * 32
    assert str(found).splitlines()[0].split()[:2] == ["length", "T"]
    assert found.curves().svg().startswith("<svg")
    measured = qkv.compare_attention(["full"], sweep="keys=8", queries=1, heads=1, measure=True)
    assert measured.rows[0]["seconds"]["median"] > 0


def test_what_does_not_fit_is_a_value_error():
    with pytest.raises(ValueError, match="did you mean window"):
        qkv.compare_attention(["widnow=3"])
    with pytest.raises(ValueError, match="axis of a sweep"):
        qkv.compare_attention(["full"], sweep="lenght")
    with pytest.raises(ValueError, match="kv-heads 3 must divide heads 8"):
        qkv.AttentionCost(kv_heads=3)
    with pytest.raises(TypeError, match="list of texts"):
        qkv.compare_attention("full")


def test_a_model_is_explained_by_its_parts(trained):
    text = qkv.explain_model(trained.model, source_length=7, target_length=5, batch=2)
    assert "Forward of 2 rows, S 7, T 5" in text
    assert "encoder: self-attention, 7 of 7 keys" in text
    with pytest.raises(ValueError, match="batch must be"):
        qkv.explain_model(trained.model, batch=0)
