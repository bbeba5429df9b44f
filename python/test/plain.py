"""Attention by its formulas, without fusion: the reference of the tests.

On arrays of NumPy and on tensors of PyTorch alike, in the type that they have: float64 to be right, bfloat16 to see
what the type alone loses. PyTorch's tape gives the gradients.
"""

import sys

import numpy as np


def library(x):
    """What the functions of x are called in: numpy, or torch."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def positions(T, S):
    """p (T, 1), the positions of the queries, and j (1, S), those of the keys."""
    return np.arange(T)[:, None] + S - T, np.arange(S)[None]


def shared(x, H):
    """Heads of keys, repeated for the queries that read them."""
    return x[:, [h * x.shape[1] // H for h in range(H)]]


def transposed(x):
    return x.swapaxes(-1, -2)


def scaled_dot(q, k):
    return q @ transposed(k) / q.shape[-1] ** 0.5


def masked(s, visible):
    return s if visible is None else library(s).where(library(s).asarray(visible), s, -np.inf)


def softmax(s, visible, sink=None):
    """(weights, log of the sum of exponentials); sink (H): a score that belongs to no key."""
    xp = library(s)
    s = masked(s, visible)
    maximum = xp.amax(s, -1)[..., None]
    if sink is not None:
        maximum = xp.maximum(maximum, sink[:, None, None])
    maximum = xp.where(xp.isfinite(maximum), maximum, 0)
    e = xp.exp(s - maximum)
    total = e.sum(-1)[..., None]
    some = total > 0
    if sink is not None:
        total = total + xp.exp(sink[:, None, None] - maximum) * some
    total = xp.where(some, total, 1)
    return e / total, xp.where(some, xp.log(total) + maximum, -np.inf)[..., 0]


def kernel_weights(kernel):
    """A normalizer of Nadaraya and Watson: kernel(u) of distances u over its sum."""

    def normalize(s, visible):
        xp = library(s)
        u = xp.sqrt(xp.where(s < 0, -2 * s, 1e-30))
        w = xp.where(xp.asarray(np.True_ if visible is None else visible), kernel(u), 0)
        total = w.sum(-1)[..., None]
        some = total > 0
        total = xp.where(some, total, 1)
        return w / total, xp.where(some, xp.log(total), -np.inf)[..., 0]

    return normalize


def attention(q, k, v, score=scaled_dot, modify=(), visible=None, normalize=softmax, reweigh=()):
    """(out, weights, lse) of q (B, H, T, D), k (B, G, S, D), v (B, G, S, E), with the parts as functions."""
    k, v = shared(k, q.shape[1]), shared(v, q.shape[1])
    s = score(q, k)
    for change in modify:
        s = change(s)
    w, lse = normalize(s, visible)
    for change in reweigh:
        w = change(w)
    return w @ v, w, lse
