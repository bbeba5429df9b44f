import numpy as np
import pytest

import qkv
from sentence import B, H, S, T, numbers, qkv_arrays


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


def test_a_function_is_asked_once_a_shape(qkv_arrays):
    asked = []

    def rule(b, h, q, k):
        asked.append((b.shape, h.shape, q.shape, k.shape))
        return q >= k

    mask = qkv.mask(rule)
    for _ in range(3):
        qkv.attention(*qkv_arrays, mask=mask & qkv.causal())
    assert asked == [((B, 1, 1, 1), (1, H, 1, 1), (1, 1, T, 1), (1, 1, 1, S))]


def test_explain_names_the_call_and_counts_pairs(qkv_arrays):
    text = qkv.explain(*qkv_arrays, mask=qkv.causal(), modify=qkv.softcap(5))
    assert "causal()" in text and "softcap(5)" in text and "FLOP" in text


wrong = {
    "lengths of k and v differ": (lambda q, k, v: qkv.attention(q, k, v[:, :, :-1]), ValueError, "same number of keys S"),
    "batches differ": (lambda q, k, v: qkv.attention(q[:1], k, v), ValueError, "batch B"),
    "widths differ": (lambda q, k, v: qkv.attention(q[..., :8], k, v), ValueError, "width D"),
    "heads do not divide": (lambda q, k, v: qkv.attention(q[:, :3], k, v), ValueError, "divide H"),
    "three axes": (lambda q, k, v: qkv.attention(q[0], k[0], v[0]), ValueError, "four axes"),
    "float64": (lambda q, k, v: qkv.attention(q.astype(np.float64), k, v), TypeError, "q: expected float32 or bfloat16, got float64"),
    "integers": (lambda q, k, v: qkv.attention(q, k.astype(np.int32), v), TypeError, "k: expected float32 or bfloat16, got int32"),
    "columns apart": (lambda q, k, v: qkv.attention(q[..., ::2], k[..., ::2], v), ValueError, "contiguous"),
    "rows backwards": (lambda q, k, v: qkv.attention(q[:, :, ::-1], k, v), TypeError, "backwards"),
    "a list": (lambda q, k, v: qkv.attention([1.0], k, v), TypeError, "q: expected an array"),
    "a table for a mask": (lambda q, k, v: qkv.attention(q, k, v, mask=np.ones((T, S), bool)), TypeError, "dense"),
    "a negative window": (lambda q, k, v: qkv.window(-5), ValueError, "window"),
    "lengths out of range": (lambda q, k, v: qkv.attention(q, k, v, mask=qkv.padding([S + 1, 0])), ValueError, "padding"),
    "as many lengths as rows": (lambda q, k, v: qkv.attention(q, k, v, mask=qkv.padding([1, 2, 3])), ValueError, "padding"),
    "lengths with a point": (lambda q, k, v: qkv.padding([1.5, 2]), TypeError, "integers"),
    "a mask of floats": (lambda q, k, v: qkv.dense(np.ones((1, 1, T, S), np.float32)), TypeError, "integers or bool"),
    "a function that answers with numbers": (lambda q, k, v: qkv.attention(q, k, v, mask=qkv.mask(lambda b, h, i, j: i + j)), TypeError, "booleans"),
    "a function with and": (lambda q, k, v: qkv.attention(q, k, v, mask=qkv.mask(lambda b, h, i, j: i > 3 and j > 3)), ValueError, "& | ~"),
    "another kind of part": (lambda q, k, v: qkv.attention(q, k, v, score=qkv.softcap(2)), TypeError, "score"),
    "two scales": (lambda q, k, v: qkv.attention(q, k, v, score=qkv.cosine(2), scale=3), ValueError, "scale"),
    "dropout of 1.5": (lambda q, k, v: qkv.attention(q, k, v, dropout=1.5), ValueError, "rate"),
    "slopes of other heads": (lambda q, k, v: qkv.attention(q, k, v, modify=qkv.alibi(numbers(H + 1))), ValueError, "alibi"),
}


@pytest.mark.parametrize("name", wrong)
def test_refuses(qkv_arrays, name):
    call, kind, words = wrong[name]
    with pytest.raises(kind) as caught:
        call(*qkv_arrays)
    assert words in str(caught.value)
