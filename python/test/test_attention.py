import numpy as np
import pytest

import qkv
from formula import numbers, qkv_arrays


@pytest.fixture(name="qkv_arrays")
def arrays():
    return qkv_arrays()


def expect_near(got, wanted, tolerance=2e-5):
    got = np.asarray(got, dtype=np.float64)
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max(initial=0) <= tolerance * max(1e-3, np.abs(wanted).max(initial=0))


def test_nothing_is_copied_and_strides_are_kept():
    q = numbers(2, 7, 4, 16).transpose(0, 2, 1, 3)  # (B, T, H, D) in memory
    out = qkv.attention(q, q, q)
    assert out.strides == q.strides
    expect_near(out, np.asarray(qkv.attention(*(np.ascontiguousarray(q),) * 3), np.float64), 1e-6)


def test_dropout_is_a_function_of_its_seed(qkv_arrays):
    a, b, c = (qkv.attention(*qkv_arrays, dropout=0.5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    kept = qkv.attention(*qkv_arrays, dropout=0.5, seed=1, return_weights=True)[1]
    whole = qkv.attention(*qkv_arrays, return_weights=True)[1]
    assert 0.45 < (kept == 0).mean() < 0.55
    expect_near(kept[kept > 0], 2 * whole.astype(np.float64)[kept > 0])


def test_explain_names_the_call_and_counts_pairs(qkv_arrays):
    text = qkv.explain(*qkv_arrays, mask=qkv.causal(), modify=qkv.softcap(5))
    assert text.startswith("attention(q, k, v, modify=softcap(5), mask=causal())\n  q  ") and "FLOP" in text


def test_explain_prints_the_call_in_python(qkv_arrays):
    def call(**options):
        return qkv.explain(*qkv_arrays, **options).partition("\n")[0]

    assert call() == "attention(q, k, v)"
    assert call(mask=(qkv.causal() | qkv.window(2)) & qkv.window(3)).endswith(
        "mask=(causal() | window(2, 2)) & window(3, 3))"
    )
    assert call(modify=[qkv.softcap(5), qkv.softcap(7)], dropout=0.1, seed=3, scale=0.5) == (
        "attention(q, k, v, score=dot(0.5), modify=[softcap(5), softcap(7)], dropout=0.1, seed=3)"
    )
