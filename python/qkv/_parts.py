"""The parts of the attention formula except the mask: a part remembers how it is made, and the arrays that it is
made of.

A part without arrays is made once. One with arrays is made anew for every call, because the arrays may have
changed; gradients flow to them in qkv.torch.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable

from . import _core
from ._arrays import Array, as_floats


class Known:
    """An object that is found by its number while it lives: operators of PyTorch take numbers, not objects."""

    __slots__ = ("__weakref__", "number")
    _all: weakref.WeakValueDictionary[int, Known] = weakref.WeakValueDictionary()
    _numbers = itertools.count(1)

    def __init__(self):
        self.number = next(Known._numbers)
        Known._all[self.number] = self

    @staticmethod
    def find(number):
        """The object with that number; None for 0."""
        found = Known._all.get(number)
        if found is None and number:
            raise RuntimeError(
                "a mask or another part of a compiled call is gone: keep it as long as the compiled function"
            )
        return found


class Part(Known):
    """A score, a score modification, a normalization or a reweighting."""

    __slots__ = ("_made", "_make", "_name", "arrays")

    def __init__(self, make, arrays=(), name="part"):
        super().__init__()
        self._make, self.arrays, self._name = make, tuple(arrays), name
        self._made = self.made()  # errors are raised where the part is written

    def made(self, arrays=None, requires_grad=False, shape=None):
        """The object of the extension module for a call of that shape; `arrays` replace the part's own."""
        if not self.arrays:
            made = getattr(self, "_made", None)
            return self._make() if made is None else made
        arrays = self.arrays if arrays is None else arrays
        return self._make(*(as_floats(x, self._name) for x in arrays), requires_grad)

    def __repr__(self):
        return repr(self._made)


class Score(Part):
    """Similarity of a query and a key."""


class Modify(Part):
    """A function of the scores, before the mask."""


class Normalize(Part):
    """From scores to attention weights."""


class Reweigh(Part):
    """Factors on the attention weights."""


# score


def scaled_dot() -> Score:
    """s_ij = q_i . k_j / sqrt(D), the default (Vaswani et al., 2017)."""
    return Score(_core.scaled_dot, name="scaled_dot")


def dot(scale: float = 1.0) -> Score:
    """s_ij = scale q_i . k_j (Luong et al., 2015)."""
    return Score(lambda: _core.dot(scale), name="dot")


def cosine(scale: float = 1.0, gain: Array | None = None) -> Score:
    """s_ij = scale gain q_i . k_j / (|q_i| |k_j|). gain (1), an array that gradients flow to."""
    if gain is None:
        return Score(lambda: _core.cosine(scale), name="cosine")
    return Score(lambda g, requires_grad: _core.cosine_with_gain(scale, g, requires_grad), (gain,), "cosine: gain")


def distance() -> Score:
    """s_ij = -1/2 |q_i - k_j|^2."""
    return Score(_core.distance, name="distance")


def gaussian(sigma: float | Array = 1.0) -> Score:
    """s_ij = -|q_i - k_j|^2 / (2 sigma^2): with softmax, a Gaussian kernel. sigma: a number, or an array (1)."""
    if isinstance(sigma, (int, float)):
        return Score(lambda: _core.gaussian_of_width(sigma), name="gaussian")
    return Score(_core.gaussian, (sigma,), "gaussian: sigma")


def bilinear(m: Array) -> Score:
    """s_ij = q_i^T m k_j, m (Dq, Dk): "general" of Luong et al. (2015)."""
    return Score(_core.bilinear, (m,), "bilinear: m")


def additive(w_q: Array, w_k: Array, w_v: Array) -> Score:
    """s_ij = w_v . tanh(w_q q_i + w_k k_j) (Bahdanau et al., 2015). w_q (F, Dq), w_k (F, Dk), w_v (F)."""
    return Score(_core.additive, (w_q, w_k, w_v), "additive")


def concat(w: Array, w_v: Array) -> Score:
    """s_ij = w_v . tanh(w [q_i ; k_j]) (Luong et al., 2015). w (F, Dq + Dk), w_v (F)."""
    return Score(_core.concat, (w, w_v), "concat")


def location(w: Array) -> Score:
    """s_ij = (w q_i)_j, w (rows, Dq): a score of the query and the position of the key (Luong et al., 2015)."""
    return Score(_core.location, (w,), "location: w")


# modify


def softcap(cap: float) -> Modify:
    """s <- cap tanh(s / cap) (Gemma 2, 2024)."""
    return Modify(lambda: _core.softcap(cap), name="softcap")


def alibi(slopes: Array) -> Modify:
    """s_ij <- s_ij - slope_h |p_i - j|, p_i = i + S - T (Press et al., 2022). slopes (H): see alibi_slopes()."""
    return Modify(_core.alibi, (slopes,), "alibi: slopes")


class _Bias(Modify):
    __slots__ = ()

    def made(self, arrays=None, requires_grad=False, shape=None):
        (numbers,) = self.arrays if arrays is None else arrays
        return _core.bias(as_floats(numbers, self._name), shape is not None and shape.axes == 3, requires_grad)


def bias(numbers: Array) -> Modify:
    """s <- s + numbers, which broadcast to the scores (B, H, T, S) as in NumPy; minus infinity masks a key."""
    return _Bias(None, (numbers,), "bias")


def relative_bias(table: Array, bidirectional: bool = True, max_distance: int = 128) -> Modify:
    """s_ij <- s_ij + table[bucket(j - p_i), h], table (buckets, H): see relative_bucket() (Raffel et al., 2020)."""
    if getattr(table, "ndim", 0) != 2:
        given = getattr(table, "shape", type(table).__name__)
        raise ValueError(f"relative_bias: table must have two axes, (buckets, H); got {given}")
    buckets = int(table.shape[0])
    return Modify(
        lambda t, requires_grad: _core.relative_bias(t, bidirectional, buckets, max_distance, requires_grad),
        (table,),
        "relative_bias: table",
    )


def absolute_bias(table: Array) -> Modify:
    """s_ij <- s_ij + table[h, p_i, j], table (H, N, N): none from position N on (Tay et al., 2021)."""
    return Modify(_core.absolute_bias, (table,), "absolute_bias: table")


def falcon_alibi(slopes: Iterable[float], scale: float) -> Modify:
    """ALiBi as in Falcon, for causal attention: s <- s + scale bf16(bf16(slope_h) bf16(j)), scale 1 / sqrt(D)."""
    numbers = [float(slope) for slope in slopes]
    return Modify(lambda: _core.falcon_alibi(numbers, scale), name="falcon_alibi")


def first_block_bias(block: int, copies: int) -> Modify:
    """s_ij <- s_ij + ln(1 + copies) for keys of the first block and queries between first and last block."""
    return Modify(lambda: _core.first_block_bias(block, copies), name="first_block_bias")


# normalize


def softmax_with_sink(sink: Array) -> Normalize:
    """Softmax with exp(sink_h) added to the sum (H): a head may put a part of its weight on no key."""
    return Normalize(_core.softmax_with_sink, (sink,), "softmax_with_sink")


def boxcar() -> Normalize:
    """Kernel weights 1 for u < 1, else 0, of the distance u = sqrt(-2 s)."""
    return Normalize(_core.boxcar, name="boxcar")


def epanechnikov() -> Normalize:
    """Kernel weights max(0, 1 - u^2)."""
    return Normalize(_core.epanechnikov, name="epanechnikov")


def triangular() -> Normalize:
    """Kernel weights max(0, 1 - u)."""
    return Normalize(_core.triangular, name="triangular")


def constant() -> Normalize:
    """Equal weights on all visible keys."""
    return Normalize(_core.constant, name="constant")


# reweigh


def weight_dropout(rate: float, seed: int, stream: int = 0) -> Reweigh:
    """Weights become zero with probability `rate`, the others are divided by 1 - rate. Which ones is a function of
    (seed, stream) and the position of the weight; attention(dropout=rate) draws a seed for every call."""
    return Reweigh(lambda: _core.weight_dropout(rate, seed, stream), name="weight_dropout")


def gaussian_window(p: Array, sigma: float) -> Reweigh:
    """w_ij <- w_ij exp(-(j - p_i)^2 / (2 sigma^2)) (Luong et al., 2015, local-p). p (B, H, T)."""
    return Reweigh(
        lambda center, requires_grad: _core.gaussian_window(center, sigma, requires_grad),
        (p,),
        "gaussian_window: p",
    )
