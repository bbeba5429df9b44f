"""The words of the sentence as objects: a part remembers how it is made and the arrays that it is made from.

A part without arrays is made once. One with arrays is made anew for every call, as the arrays may have changed; a
gradient flows to them where a tape records (qkv.torch).
"""

from __future__ import annotations

import itertools
import weakref

from . import _core
from ._arrays import Array, as_buffer


class Known:
    """An object with a number by which it can be found while it lives: operators of PyTorch take numbers, not objects."""

    __slots__ = ("number", "__weakref__")
    _all = weakref.WeakValueDictionary()
    _numbers = itertools.count(1)

    def __init__(self):
        self.number = next(Known._numbers)
        Known._all[self.number] = self

    @staticmethod
    def find(number):
        """The object of that number; None for 0."""
        found = Known._all.get(number)
        if found is None and number:
            raise RuntimeError("a mask or another part of a compiled call is gone: keep it as long as the compiled function")
        return found


class Part(Known):
    """A score, a modifier, a normalizer or a reweigher."""

    __slots__ = ("_make", "arrays", "_made", "_name")

    def __init__(self, make, arrays=(), name="part"):
        super().__init__()
        self._make, self.arrays, self._name = make, tuple(arrays), name
        self._made = self.made()  # errors come where the part is written

    def made(self, arrays=None, learnt=False):
        """The object of the extension module; `arrays` stand in for the part's own, `learnt` asks for gradients."""
        if not self.arrays:
            made = getattr(self, "_made", None)
            return self._make() if made is None else made
        arrays = self.arrays if arrays is None else arrays
        return self._make(*(as_buffer(x, self._name) for x in arrays), learnt)

    def __repr__(self):
        return repr(self._made)


class Score(Part):
    """How a query meets a key."""


class Modify(Part):
    """What is done to a raw score."""


class Normalize(Part):
    """Scores to weights."""


class Reweigh(Part):
    """Weights to weights."""


# score


def dot(scale: float = 1.0) -> Score:
    """s_ij = scale q_i . k_j (Luong et al., 2015)."""
    return Score(lambda: _core.dot(scale), name="dot")


def cosine(scale: float = 1.0) -> Score:
    """s_ij = scale q_i . k_j / (|q_i| |k_j|)."""
    return Score(lambda: _core.cosine(scale), name="cosine")


def distance() -> Score:
    """s_ij = -1/2 |q_i - k_j|^2."""
    return Score(_core.distance, name="distance")


def gaussian(sigma: float | Array = 1.0) -> Score:
    """s_ij = -|q_i - k_j|^2 / (2 sigma^2): a Gaussian kernel, softmax makes it a weight. sigma: a number, or an array (1)."""
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
    """s_ij = (w q_i)_j, w (rows, Dq): a score from the query alone (Luong et al., 2015)."""
    return Score(_core.location, (w,), "location: w")


# modify


def softcap(cap: float) -> Modify:
    """s <- cap tanh(s / cap) (Gemma 2, 2024)."""
    return Modify(lambda: _core.softcap(cap), name="softcap")


def alibi(slopes: Array) -> Modify:
    """s_ij <- s_ij - slope_h |p_i - j| (Press et al., 2022). slopes (H)."""
    return Modify(_core.alibi, (slopes,), "alibi: slopes")


def bias(numbers: Array) -> Modify:
    """s <- s + numbers, four axes (B, H, T, S), any of them 1; minus infinity hides a pair."""
    return Modify(_core.bias, (numbers,), "bias")


def relative_bias(table: Array, bidirectional: bool = True, max_distance: int = 128) -> Modify:
    """s_ij <- s_ij + table[bucket(j - p_i), h] (Raffel et al., 2020: T5). table (buckets, H)."""
    if getattr(table, "ndim", 0) != 2:
        raise ValueError(f"relative: the table has two axes, (buckets, H); got {getattr(table, 'shape', type(table).__name__)}")
    buckets = int(table.shape[0])
    return Modify(lambda t, learnt: _core.relative(t, bidirectional, buckets, max_distance, learnt), (table,), "relative: table")


# normalize


def softmax_with_sink(numbers: Array) -> Normalize:
    """Softmax with exp(numbers_h) added to the sum (H): a head may look at nothing."""
    return Normalize(_core.sink, (numbers,), "sink")


def boxcar() -> Normalize:
    """Kernel weights: 1 within the width of the score, else 0."""
    return Normalize(_core.boxcar, name="boxcar")


def epanechnikov() -> Normalize:
    """Kernel weights: max(0, 1 - u^2)."""
    return Normalize(_core.epanechnikov, name="epanechnikov")


def triangular() -> Normalize:
    """Kernel weights: max(0, 1 - u)."""
    return Normalize(_core.triangular, name="triangular")


def constant() -> Normalize:
    """Kernel weights: every visible key counts the same."""
    return Normalize(_core.constant, name="constant")


# reweigh


def gaussian_window(p: Array, sigma: float) -> Reweigh:
    """w_ij <- w_ij exp(-(j - p_i)^2 / (2 sigma^2)) (Luong et al., 2015, local-p). p (B, H, T)."""
    return Reweigh(lambda centre, learnt: _core.gaussian_window(centre, sigma, learnt), (p,), "gaussian_window: p")
