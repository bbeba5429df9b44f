"""Operations beside attention(): their formulas, and in qkv.torch their gradients."""

import numpy as np
import pytest

import plain
import qkv
from formula import B, D, E, G, H, S, T, numbers, qkv_arrays

try:
    import torch

    import qkv.torch
except ImportError:
    torch = None

with_torch = pytest.mark.skipif(torch is None, reason="PyTorch makes the gradients of the formula")


def softmax(x):
    e = (x - x.max(-1, keepdims=True)) if isinstance(x, np.ndarray) else x - x.amax(-1, keepdim=True)
    e = e.exp() if hasattr(e, "exp") else np.exp(e)
    return e / e.sum(-1)[..., None]


lengths = np.array([3, 7], np.int32)


def masked_softmax(x):
    visible = plain.library(x).asarray(np.arange(9) < lengths[:, None, None])
    return softmax(plain.library(x).where(visible, x, -np.inf))


def rotary(x, interleaved=False, frequencies=None, multiplier=1.0):
    half = x.shape[-1] // 2
    if frequencies is None:
        frequencies = 100.0 ** (-np.arange(half) / half)
    angle = (np.arange(x.shape[-2])[:, None] + 5) * frequencies
    c, s = (plain.library(x).asarray(multiplier * f(angle)) for f in (np.cos, np.sin))
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    xp = plain.library(x)
    halves = (a * c - b * s, b * c + a * s)
    return xp.stack(halves, -1).reshape(x.shape) if interleaved else xp.concatenate(halves, -1)


def partial_rotary(x):
    rotated = rotary(x[..., :4], frequencies=np.array([0.5, 2.0]), multiplier=1.5)
    return plain.library(x).concatenate((rotated, x[..., 4:]), -1)


def rms(x, w):
    return x / plain.library(x).sqrt((x * x).mean(-1)[..., None] + 1e-5) * w * (1 - 0.25)


def gate(x, w, b):
    return x / (1 + plain.library(x).exp(-(x @ w.T + b)))


def convolved(x, kernel, visible):
    """Each head with its kernel (H, 1, 3, 3): over two earlier queries and the query, a key and its two
    neighbors."""
    xp = plain.library(x)
    mask = xp.asarray(visible.copy())
    x = xp.where(mask, x, 0 * x)
    padded = xp.concatenate([0 * x[:, :, :2], x], -2) if xp is np else torch.cat([0 * x[:, :, :2], x], -2)
    padded = np.pad(padded, [(0, 0)] * 3 + [(1, 1)]) if xp is np else torch.nn.functional.pad(padded, (1, 1))
    n, m = x.shape[-2:]
    return sum(
        kernel[None, :, 0, a, c, None, None] * padded[:, :, a : a + n, c : c + m]
        for a in range(3)
        for c in range(3)
    )


def multi_token(q, k, v, kernel, mix):
    p, j = plain.positions(T, S)
    visible = np.broadcast_to(j <= p, (T, S))
    k, v = plain.shared(k, H), plain.shared(v, H)
    s = convolved(plain.scaled_dot(q, k), kernel, visible)
    xp = plain.library(s)
    s = xp.einsum("gh,bhij->bgij", mix, s)
    return plain.softmax(s, visible)[0] @ v


cases = {
    "softmax": (lambda m: m.softmax, softmax, [numbers(2, 5, 9)]),
    "masked_softmax": (lambda m: lambda x: m.masked_softmax(x, lengths), masked_softmax, [numbers(2, 5, 9)]),
    "rotary": (lambda m: lambda x: m.rotary(x, base=100.0, offset=5), rotary, [numbers(B, H, 6, 8)]),
    "rotary, interleaved": (
        lambda m: lambda x: m.rotary(x, interleaved=True, base=100.0, offset=5),
        lambda x: rotary(x, True),
        [numbers(B, H, 6, 8)],
    ),
    "rotary, partial": (
        lambda m: lambda x: m.rotary(x, offset=5, width=4, frequencies=[0.5, 2.0], multiplier=1.5),
        partial_rotary,
        [numbers(B, H, 6, 8)],
    ),
    "normalize_heads": (
        lambda m: lambda x, w: m.normalize_heads(x, w, lambda_=0.25),
        rms,
        [numbers(B, H, 6, 8), numbers(8)],
    ),
    "gate_heads": (lambda m: m.gate_heads, gate, [numbers(B, H, 6, 8), numbers(8, 8), numbers(8)]),
    "multi_token_attention": (
        lambda m: lambda q, k, v, c, x: m.multi_token_attention(q, k, v, pre_conv=c, pre_mix=x, mask=qkv.causal()),
        multi_token,
        [*qkv_arrays(), numbers(H, 1, 3, 3, seed=4) / 3, numbers(H, H, seed=5) / 2],
    ),
}


def expect_near(got, wanted, tolerance=1e-5):
    assert got.shape == wanted.shape
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted)
    assert np.abs(got - wanted).max() <= tolerance * max(1e-3, np.abs(wanted).max())


@pytest.mark.parametrize("name", cases)
def test_values(name):
    call, formula, arrays = cases[name]
    expect_near(call(qkv)(*arrays), formula(*(x.astype(np.float64) for x in arrays)))
    wide = call(qkv)(*(x.astype(np.float64) for x in arrays))
    assert wide.dtype == np.float64 and np.array_equal(wide, call(qkv)(*arrays))


@with_torch
@pytest.mark.parametrize("name", cases)
def test_gradients(name):
    call, formula, arrays = cases[name]
    single, double = (
        [torch.from_numpy(x).to(t).requires_grad_() for x in arrays] for t in (torch.float32, torch.float64)
    )
    out, wanted = call(qkv.torch)(*single), formula(*double)
    expect_near(out.detach(), wanted.detach())
    upstream = torch.from_numpy(numbers(*out.shape, seed=9))
    for g, w in zip(
        torch.autograd.grad(out, single, upstream), torch.autograd.grad(wanted, double, upstream.double())
    ):
        expect_near(g, w)
    with pytest.raises(ValueError, match=f"use qkv.torch.{name.split(',')[0]}"):
        call(qkv)(*single)


def test_rotary_frequencies_are_those_of_transformers():
    rope = pytest.importorskip("transformers.modeling_rope_utils")
    from transformers import LlamaConfig

    width, original = 16, 4096
    common = {"factor": 8.0, "original_positions": original}
    lists = {"short_factors": [1 + c / 10 for c in range(8)], "long_factors": [1.0 + c for c in range(8)]}
    scalings = {
        "linear": qkv.RotaryScaling("linear", factor=8.0),
        "dynamic": qkv.RotaryScaling("dynamic", **common, length=10000),
        "llama3": qkv.RotaryScaling("llama3", **common, low_frequency_factor=2.0, high_frequency_factor=6.0),
        "yarn": qkv.RotaryScaling("yarn", **common, beta_fast=24.0),
        "longrope": qkv.RotaryScaling("longrope", **common, **lists, length=10000),
    }
    for name, scaling in scalings.items():
        parameters = {
            "rope_type": name,
            "rope_theta": 50000.0,
            "factor": 8.0,
            "original_max_position_embeddings": original,
            "low_freq_factor": 2.0,
            "high_freq_factor": 6.0,
            "beta_fast": 24.0,
            "short_factor": lists["short_factors"],
            "long_factor": lists["long_factors"],
        }
        config = LlamaConfig(
            hidden_size=2 * width,
            num_attention_heads=2,
            head_dim=width,
            max_position_embeddings=original if name == "dynamic" else 8 * original,
            rope_parameters=parameters,
        )
        wanted, multiplier = rope.ROPE_INIT_FUNCTIONS[name](config, "cpu", seq_len=10000)
        got = qkv.rotary_frequencies(50000.0, width, scaling)
        np.testing.assert_allclose(got.frequencies, wanted.numpy(), rtol=2e-6)
        assert got.multiplier == pytest.approx(multiplier)


def test_multi_token_weights_and_cache():
    q, k, v = (numbers(B, n, 11, w, seed=w) for n, w in ((H, D), (G, D), (G, E)))
    options = {
        "pre_conv": numbers(H, 1, 2, 3, seed=4),
        "post_conv": numbers(H, 1, 2, 3, seed=5),
        "mask": qkv.causal(),
    }
    out, weights = qkv.multi_token_attention(q, k, v, **options, return_weights=True)
    assert weights.shape == (B, H, 11, 11) and np.array_equal(out, qkv.multi_token_attention(q, k, v, **options))
    cache = qkv.MultiTokenCache(**options)
    steps = [cache.attend(*(x[:, :, n : n + 1] for x in (q, k, v))) for n in range(11)]
    assert np.array_equal(np.concatenate(steps, 2), out) and cache.length == len(cache) == 11
    per_head = qkv.mask_mod(lambda b, h, i, j: (j >= h) | (j == 0))
    cache = qkv.MultiTokenCache(mask=per_head)
    wanted = qkv.multi_token_attention(q[:, :, -1:], k, v, mask=per_head)
    assert np.array_equal(cache.attend(q, k, v)[:, :, -1:], wanted)
    with pytest.raises(ValueError, match="pad_key must be both, left or right, got 'middle'"):
        qkv.multi_token_attention(q, k, v, pad_key="middle")


def test_a_cache_gives_what_one_call_gives():
    q, k, v = (numbers(B, n, 11, w, seed=w) for n, w in ((H, D), (G, D), (G, E)))
    cache = qkv.KeyValueCache()
    with pytest.raises(ValueError, match="KeyValueCache: it is empty"):
        cache.keys  # noqa: B018
    for n in range(11):
        cache.append(k[:, :, n : n + 1], v[:, :, n : n + 1])
    assert cache.length == len(cache) == 11
    assert np.array_equal(cache.keys, k) and np.array_equal(cache.values, v)
    assert np.array_equal(qkv.attention(q, cache.keys, cache.values), qkv.attention(q, k, v))
    cache.reorder([1, 1])
    assert np.array_equal(cache.keys, k[[1, 1]])


@with_torch
def test_a_cache_of_tensors_gives_tensors():
    cache = qkv.KeyValueCache()
    k = torch.from_numpy(numbers(B, G, 3, D))
    cache.append(k, k)
    assert torch.equal(cache.keys, k)


def packed_inputs():
    q, k, v = numbers(12, H, D, seed=1), numbers(15, G, D, seed=2), numbers(15, G, E, seed=3)
    return q, k, v, [0, 5, 5, 12], [0, 7, 9, 15]


def test_packed_sequences_are_calls_of_their_own():
    q, k, v, of_q, of_k = packed_inputs()
    mods = qkv.score_mod(lambda s, b, h, i, j: s + i - j), qkv.alibi(qkv.alibi_slopes(H))
    for options in (
        {},
        {"mask": qkv.causal() & qkv.mask_mod(lambda b, h, i, j: (i + j) % 3 > 0)},
        {"modify": mods},
    ):
        out = qkv.attention_packed(q, k, v, of_q, of_k, **options)
        for n in range(3):
            rows, keys = slice(*of_q[n : n + 2]), slice(*of_k[n : n + 2])
            if rows.start < rows.stop:
                one = (x.swapaxes(0, 1)[None] for x in (q[rows], k[keys], v[keys]))
                assert np.array_equal(out[rows], qkv.attention(*one, **options)[0].swapaxes(0, 1))
    with pytest.raises(ValueError, match="attention_packed: .*offsets"):
        qkv.attention_packed(q, k, v, [0, 5], of_k)


@with_torch
def test_packed_sequences_have_gradients():
    q, k, v, of_q, of_k = packed_inputs()
    leaves = [torch.from_numpy(x).requires_grad_() for x in (q, k, v)]
    slopes = torch.from_numpy(qkv.alibi_slopes(H)).requires_grad_()
    out = qkv.torch.attention_packed(*leaves, of_q, of_k, mask=qkv.causal(), modify=qkv.alibi(slopes))
    wanted = qkv.attention_packed(q, k, v, of_q, of_k, mask=qkv.causal(), modify=qkv.alibi(qkv.alibi_slopes(H)))
    assert np.array_equal(out.detach(), wanted)
    assert all(g.abs().sum() > 0 for g in torch.autograd.grad(out.sum(), [*leaves, slopes]))
    with pytest.raises(ValueError, match="q_offsets must rise from 0 to 12"):
        qkv.torch.attention_packed(*leaves, [0, 5, 3], of_k)


def local_p(q, k, v, w_p, v_p, of_keys):
    """Luong et al. (2015), equations 9 and 10."""
    xp = plain.library(q)
    center = xp.asarray(of_keys)[:, None, None] / (1 + xp.exp(-(xp.tanh(q @ w_p.T) @ v_p)))
    j = xp.asarray(np.arange(S))
    distance = j - center[..., None]
    visible = (abs(distance) <= 4) & (j < xp.asarray(of_keys)[:, None, None, None])
    fade = lambda w: w * xp.exp(-(distance**2) / 8)
    if xp is not np:
        visible = visible.detach().numpy()
    return plain.attention(q, k, v, visible=visible, reweigh=[fade])[0]


def local_call(module, q, k, v, w_p, v_p, of_keys):
    near = module.local_p(q, w_p, v_p, of_keys, 4)
    return module.attention(q, k, v, mask=qkv.padding(of_keys) & near.mask, reweigh=near.reweigh)


def test_local_p_is_its_formula():
    of_keys = np.array([S, 60], np.int32)
    arrays = [*qkv_arrays(), numbers(8, D, seed=4), numbers(8, seed=5)]
    with np.errstate(divide="ignore"):
        wanted = local_p(*(x.astype(np.float64) for x in arrays), of_keys)
    expect_near(local_call(qkv, *arrays, of_keys), wanted)
    if torch is None:
        return
    single, double = (
        [torch.from_numpy(x).to(t).requires_grad_() for x in arrays] for t in (torch.float32, torch.float64)
    )
    out, exact = local_call(qkv.torch, *single, of_keys), local_p(*double, of_keys)
    upstream = torch.from_numpy(numbers(B, H, T, E, seed=9))
    for g, w in zip(
        torch.autograd.grad(out, single, upstream), torch.autograd.grad(exact, double, upstream.double())
    ):
        expect_near(g, w, 5e-5)


def test_positions():
    table = qkv.sinusoidal(5, 6, first=2)
    assert (
        table.shape == (5, 6)
        and table[0, 0] == pytest.approx(np.sin(2))
        and table[1, 1] == pytest.approx(np.cos(3))
    )
    assert np.array_equal(qkv.alibi_slopes(4), np.float32([1 / 4, 1 / 16, 1 / 64, 1 / 256]))
    assert qkv.relative_bucket(-3) == 3 and qkv.relative_bucket(3) == 19
    distances = np.arange(-200, 200).reshape(8, 50)
    buckets = qkv.relative_bucket(distances, bidirectional=False, num_buckets=8, max_distance=20)
    assert buckets.shape == (8, 50) and buckets.max() == 7 and (buckets[distances >= 0] == 0).all()
    assert buckets[0, 0] == qkv.relative_bucket(-200, bidirectional=False, num_buckets=8, max_distance=20)
