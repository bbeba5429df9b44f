import numpy as np
import pytest

import plain
import qkv

B, H, G, T, S, D, E = 2, 4, 2, 21, 34, 16, 12


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def qkv_arrays():
    return numbers(B, H, T, D, seed=1), numbers(B, G, S, D, seed=2), numbers(B, G, S, E, seed=3)


def expect_near(got, wanted, tolerance=2e-5):
    got = np.asarray(got, dtype=np.float64)
    finite = np.isfinite(wanted)
    assert got.shape == wanted.shape
    assert np.array_equal(np.isfinite(got), finite)
    size = max(1e-3, np.abs(wanted[finite]).max(initial=0))
    assert np.abs(got[finite] - wanted[finite]).max(initial=0) <= tolerance * size


p, j = plain.positions(T, S)
lengths = np.array([20, 0], dtype=np.int32)
lengths_of_queries = (np.arange(B * T).reshape(B, T) * 7 % (S + 1)).astype(np.int32)
ids_of_queries = np.sort(np.arange(B * T).reshape(B, T) * 5 % 4, axis=1)
ids_of_keys = np.sort(np.arange(B * S).reshape(B, S) * 3 % 4, axis=1)
table = np.random.default_rng(5).random((B, 1, T, S)) < 0.5


def global_(positions):
    return np.isin(p, positions) | np.isin(j, positions)


masks = {
    "none": (None, np.ones((1, 1, 1, 1), bool)),
    "causal": (lambda: qkv.causal(), j <= p),
    "causal with an offset": (lambda: qkv.causal(3), j <= np.arange(T)[:, None] + 3),
    "window": (lambda: qkv.window(5, 2), (p - 5 <= j) & (j <= p + 2)),
    "window without an end": (lambda: qkv.window(-1, 2), j <= p + 2),
    "padding": (lambda: qkv.padding(lengths), (j[None, None] < lengths[:, None, None, None])),
    "padding of queries": (lambda: qkv.padding(lengths_of_queries), j[None, None] < lengths_of_queries[:, None, :, None]),
    "documents": (lambda: qkv.documents(ids_of_queries, ids_of_keys), (ids_of_queries[:, None, :, None] == ids_of_keys[:, None, None, :])),
    "prefix": (lambda: qkv.causal() | qkv.prefix(lengths), (j <= p) | (j[None, None] < lengths[:, None, None, None])),
    "dense": (lambda: qkv.dense(table), table),
    "longformer": (lambda: qkv.longformer(3, (0, 9)), (abs(p - j) <= 3) | global_([0, 9])),
    "not": (lambda: ~qkv.causal() & qkv.window(9), (j > p) & (abs(p - j) <= 9)),
    "function": (lambda: qkv.mask(lambda b, h, q, k: (q + k + h) % 3 != b), None),
    "function and causal": (lambda: qkv.causal() & qkv.mask(lambda b, h, q, k: k % 2 == 0), (j <= p) & (j % 2 == 0)),
}
at = np.ogrid[0:B, 0:H, 0:T, 0:S]
masks["function"] = (masks["function"][0], (at[2] + at[3] + at[1]) % 3 != at[0])

parameters = {"m": numbers(D, D, seed=6) / 4, "w_q": numbers(8, D, seed=7) / 4, "w_k": numbers(8, D, seed=8) / 4, "w_v": numbers(8, seed=9)}
scores = {
    "scaled_dot": (None, {}),
    "dot": (lambda: qkv.dot(0.3), {"scale": 0.3}),
    "cosine": (lambda: qkv.cosine(4), {"scale": 4}),
    "bilinear": (lambda: qkv.bilinear(parameters["m"]), parameters),
    "additive": (lambda: qkv.additive(*(parameters[n] for n in ("w_q", "w_k", "w_v"))), parameters),
    "distance": (lambda: qkv.distance(), {}),
    "gaussian": (lambda: qkv.gaussian(2.5), {"sigma": 2.5}),
}


def exact(kind, arrays, p, visible, modify=lambda s: s, sink=None):
    q, k, v = (x.astype(np.float64) for x in arrays)
    k, v = plain.shared(k, H), plain.shared(v, H)
    s = modify(plain.scores(kind, q, k, {n: np.asarray(x, np.float64) for n, x in p.items()}))
    w, lse = plain.weights(s, np.broadcast_to(visible, s.shape), sink)
    return w @ v, w, lse


@pytest.mark.parametrize("mask", masks)
@pytest.mark.parametrize("score", scores)
def test_equals_the_formula(qkv_arrays, score, mask):
    make_score, p = scores[score]
    make_mask, visible = masks[mask]
    got = qkv.attention(*qkv_arrays, score=make_score and make_score(), mask=make_mask and make_mask(), return_weights=True, return_lse=True)
    for g, wanted in zip(got, exact(score, qkv_arrays, p, visible)):
        expect_near(g, wanted)


modifiers = {
    "softcap": (lambda: qkv.softcap(2), lambda s: 2 * np.tanh(s / 2)),
    "alibi": (lambda: qkv.alibi(numbers(H, seed=4)), lambda s: s - numbers(H, seed=4)[:, None, None] * abs(p - j)),
    "bias": (lambda: qkv.bias(numbers(1, H, T, S, seed=4)), lambda s: s + numbers(1, H, T, S, seed=4)),
}


@pytest.mark.parametrize("name", modifiers)
def test_modifiers_equal_their_formula(qkv_arrays, name):
    make, formula = modifiers[name]
    got = qkv.attention(*qkv_arrays, modify=[make()], mask=qkv.causal(), return_lse=True)
    out, _, lse = exact("scaled_dot", qkv_arrays, {}, j <= p, formula)
    expect_near(got[0], out)
    expect_near(got[1], lse)


def test_a_sink_takes_a_share(qkv_arrays):
    sink = numbers(H, seed=4)
    got = qkv.attention(*qkv_arrays, normalize=qkv.sink(sink))
    expect_near(got, exact("scaled_dot", qkv_arrays, {}, np.ones((1, 1, 1, 1), bool), sink=sink.astype(np.float64))[0])


def test_scale_replaces_one_over_the_root_of_the_width(qkv_arrays):
    expect_near(qkv.attention(*qkv_arrays, scale=0.3), exact("dot", qkv_arrays, {"scale": 0.3}, np.ones((1, 1, 1, 1), bool))[0])


@pytest.mark.parametrize("score", scores)
def test_backward_equals_finite_differences(score):
    arrays = [numbers(1, 2, 5, 4, seed=1), numbers(1, 1, 6, 4, seed=2), numbers(1, 1, 6, 3, seed=3)]
    upstream = numbers(1, 2, 5, 3, seed=4)
    small = {"m": parameters["m"][:4, :4], "w_q": parameters["w_q"][:, :4], "w_k": parameters["w_k"][:, :4], "w_v": parameters["w_v"], "scale": 2.0, "sigma": 2.0}
    small = {n: np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for n, x in small.items()}
    make = {"scaled_dot": lambda: None, "dot": lambda: qkv.dot(2.0), "cosine": lambda: qkv.cosine(2.0), "bilinear": lambda: qkv.bilinear(small["m"]),
            "additive": lambda: qkv.additive(small["w_q"], small["w_k"], small["w_v"]), "distance": qkv.distance, "gaussian": lambda: qkv.gaussian(2.0)}[score]
    names = {"bilinear": ["m"], "additive": ["w_q", "w_k", "w_v"]}.get(score, [])
    if score == "distance":
        small["sigma"] = 1.0
    visible = np.arange(6)[None] <= np.arange(5)[:, None] + 1

    def loss(q, k, v, p):
        s = plain.scores(score, q, plain.shared(k, 2), p)
        return ((plain.weights(s, np.broadcast_to(visible, s.shape))[0] @ plain.shared(v, 2)) * upstream).sum()

    dq, dk, dv, of_parts = qkv.attention_backward(upstream, *arrays, score=make(), mask=qkv.causal())
    doubles = [x.astype(np.float64) for x in arrays]
    p64 = {n: np.asarray(x, np.float64) for n, x in small.items()}
    for got, x in zip([dq, dk, dv, *of_parts], [*doubles, *(p64[n] for n in names)], strict=True):
        wanted = np.zeros_like(x)
        for index in np.ndindex(x.shape):
            before = x[index]
            x[index] = before + 1e-5
            up = loss(*doubles, p64)
            x[index] = before - 1e-5
            wanted[index] = (up - loss(*doubles, p64)) / 2e-5
            x[index] = before
        expect_near(got, wanted, 1e-4)


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
