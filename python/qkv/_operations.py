"""Softmax, positions, local and multi-token attention; qkv.torch has them with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from . import _core
from ._arrays import Array, Output, as_buffer, as_floats
from ._call import checked_mask, refuse_gradients, shape_of
from ._masks import Mask, around
from ._parts import Reweigh, gaussian_window

A = TypeVar("A")  # the caller's kind of array


def buffers(name, arrays):
    return tuple(None if x is None else as_floats(x, name) for x in arrays)


def _apply(name, arrays, *options):
    refuse_gradients(*arrays, instead=f"qkv.torch.{name}")
    output = Output(arrays[0])
    return output(getattr(_core, name)(buffers(name, arrays), None, output.numpy, *options))


def softmax(x: A) -> A:
    """Softmax of the last axis; entries of minus infinity, and rows of them, become 0."""
    return _apply("softmax", (x,))


def masked_softmax(x: A, lengths: Array) -> A:
    """Softmax of the first lengths[b], or lengths[b, t], entries of each row of x (B, T, S), 0 for the others."""
    return _apply("masked_softmax", (x,), as_buffer(lengths, "masked_softmax: lengths"))


def rotary(
    q: A,
    *,
    interleaved: bool = False,
    base: float = 10000.0,
    offset: int = 0,
    width: int = 0,
    frequencies: Sequence[float] = (),
    multiplier: float = 1.0,
) -> A:
    """Rotary position embedding of q (B, H, T, D): number c of width / 2 is rotated with number c + width / 2,
    interleaved with its neighbor, by the angle (i + offset) base^(-2c / width), and multiplied (Su et al., 2021).

    width: the first numbers are rotated; 0 for D. frequencies: width / 2 instead of base^(-2c / width), as
    rotary_frequencies() computes them.
    """
    return _apply("rotary", (q,), *rotary_options(interleaved, base, offset, width, frequencies, multiplier))


def rotary_options(interleaved, base, offset, width, frequencies, multiplier):
    return interleaved, base, (offset, width), [float(f) for f in frequencies], multiplier


@dataclass(frozen=True)
class RotaryScaling:
    """How frequencies of rotary position embedding are derived in models that were extended to longer texts.

    type: none, linear, dynamic, llama3, yarn, longrope or proportional. original_positions: the length of the first
    training. length: the longest sequence that the angles are for, with dynamic and longrope. attention_factor: the
    multiplier of yarn and longrope, 0 for the formula. short_factors, long_factors: of longrope, one for each pair.
    """

    type: Literal["none", "linear", "dynamic", "llama3", "yarn", "longrope", "proportional"] = "none"
    factor: float = 1.0
    original_positions: int = 0
    length: int = 0
    attention_factor: float = 0.0
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    mscale: float = 0.0
    mscale_all_dim: float = 0.0
    short_factors: Sequence[float] = ()
    long_factors: Sequence[float] = ()


class RotaryFrequencies(NamedTuple):
    """For rotary(): a frequency for each pair of columns, and the multiplier of cosines and sines."""

    frequencies: np.ndarray
    multiplier: float


def rotary_frequencies(
    base: float, width: int, scaling: RotaryScaling = RotaryScaling(), head_width: int = 0
) -> RotaryFrequencies:
    """Frequencies of rotary() for the first `width` columns of a head.

        yarn = qkv.RotaryScaling("yarn", factor=4, original_positions=4096)
        f = qkv.rotary_frequencies(10000, 64, yarn)
        out = qkv.rotary(q, frequencies=f.frequencies, multiplier=f.multiplier)

    head_width: D, with proportional scaling, which has D / 2 frequencies.
    """
    fields = dict(vars(scaling))
    for name in ("short_factors", "long_factors"):
        fields[name] = [float(f) for f in fields[name]]
    frequencies, multiplier = _core.rotary_frequencies(base, width, fields, head_width)
    return RotaryFrequencies(np.array(frequencies), multiplier)


def sinusoidal(length: int, width: int, first: int = 0) -> np.ndarray:
    """Sinusoidal position encoding (length, width) of positions first, first + 1, ... (Vaswani et al., 2017)."""
    return _core.sinusoidal(length, width, first)


def alibi_slopes(heads: int) -> np.ndarray:
    """The slopes of ALiBi (heads): 2^(-8 (h + 1) / heads) for a power of two (Press et al., 2022)."""
    return _core.alibi_slopes(heads)


def relative_bucket(
    distance: Any, *, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Any:
    """T5's bucket of a distance j - p, an integer or an array of them (Raffel et al., 2020)."""
    of_one = lambda d: _core.relative_bucket(int(d), bidirectional, num_buckets, max_distance)
    if np.ndim(distance) == 0:
        return of_one(distance)
    distances, inverse = np.unique(np.asarray(distance), return_inverse=True)
    return np.array([of_one(d) for d in distances], np.int64)[inverse].reshape(np.shape(distance))


class LocalP(NamedTuple):
    """Local-p attention: the predicted positions p (B, H, T), and the parts that use them."""

    p: Any
    mask: Mask
    reweigh: Reweigh


def local_p(q: Array, w_p: Array, v_p: Array, lengths: Array, window: int) -> LocalP:
    """Local attention around predicted positions p_i = length sigmoid(v_p . tanh(w_p q_i)) (Luong et al., 2015).

        near = qkv.local_p(q, w_p, v_p, lengths, 3)
        out = qkv.attention(q, k, v, mask=qkv.padding(lengths) & near.mask, reweigh=near.reweigh)

    q (B, H, T, D), w_p (F, D), v_p (F), lengths (B) of the keys. The mask shows the keys with |j - p_i| <= window;
    the reweighting multiplies their weights with exp(-(j - p_i)^2 / (2 sigma^2)), sigma = window / 2.
    """
    p = _apply("local_p", (q, w_p, v_p), as_buffer(lengths, "local_p: lengths"), window)
    return local_p_parts(p, p, window)


def local_p_parts(p, constant_p, window):
    return LocalP(p, around(constant_p, float(window)), gaussian_window(p, window / 2))


PadKey = Literal["both", "left", "right"]


def multi_token_attention(
    q: A,
    k: A,
    v: A,
    *,
    pre_conv: A | None = None,
    pre_mix: A | None = None,
    post_conv: A | None = None,
    post_head: A | None = None,
    post_mix: A | None = None,
    pad_key: PadKey = "both",
    mask: Mask | None = None,
    scale: float | None = None,
    return_weights: bool = False,
) -> Any:
    """Multi-token attention: convolutions over neighboring queries, keys and heads (Golovneva et al., 2025).

    q (B, H, T, D), k (B, G, S, D), v (B, G, S, E). pre_conv and post_conv (H, 1, c_q, c_k) are the kernels of the
    convolutions of scores and of weights, pre_mix and post_mix (H, H) mix heads, post_head (H / c, c, c) mixes
    groups of c heads; each step is left out without its array. pad_key: the position of a key among those of its
    convolution, in the middle, last ("left") or first ("right"). Returns out (B, H, T, E), or with return_weights
    (out, weights (B, H, T, S)).
    """
    arrays = (q, k, v, pre_conv, pre_mix, post_conv, post_head, post_mix)
    refuse_gradients(*arrays, instead="qkv.torch.multi_token_attention")
    made = checked_mask(mask)
    options = pad_key, None if made is None else made.of(shape_of(q, k)), scale
    output = Output(q)
    given = buffers("multi_token_attention", arrays)
    if not return_weights:
        return output(_core.multi_token_attention(given, None, output.numpy, *options))
    out, weights = _core.multi_token_attention_with_weights(given, output.numpy, *options)
    return output(out), output.statistics(weights)


def normalize_heads(out: A, weight: A, *, eps: float = 1e-5, lambda_: float = 0.0) -> A:
    """Root-mean-square norm of each head's out (B, H, T, E), times weight (E) and 1 - lambda_."""
    return _apply("normalize_heads", (out, weight), eps, lambda_)


def gate_heads(out: A, weight: A, bias: A | None = None) -> A:
    """out sigmoid(W out + b): with W (1, E) one gate for each head, with W (E, E) one for each number."""
    return _apply("gate_heads", (out, weight, bias))
