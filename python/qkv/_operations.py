"""Softmax, positions, local and multi-token attention; qkv.torch has them with gradients."""

from __future__ import annotations

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


def rotary(q: A, *, interleaved: bool = False, base: float = 10000.0, offset: int = 0) -> A:
    """Rotary position embedding of q (B, H, T, D): number c of D / 2 is rotated with number c + D / 2, interleaved
    with its neighbor, by the angle (i + offset) base^(-2c / D) (Su et al., 2021)."""
    return _apply("rotary", (q,), interleaved, base, offset)


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
