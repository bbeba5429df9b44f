"""Attention as its formulas say, in float64, with nothing fused: what the tests compare with."""

import numpy as np


def positions(T, S):
    return np.arange(T)[:, None] + S - T, np.arange(S)[None]


def scores(kind, q, k, p):
    """(B, H, T, S) from q (B, H, T, D) and k (B, H, S, D); p: the parameters."""
    if kind == "scaled_dot":
        return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if kind == "dot":
        return q @ k.swapaxes(-1, -2) * p["scale"]
    if kind == "cosine":
        unit = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k)]
        return unit[0] @ unit[1].swapaxes(-1, -2) * p["scale"]
    if kind == "bilinear":
        return q @ p["m"] @ k.swapaxes(-1, -2)
    if kind == "additive":
        features = (q @ p["w_q"].T)[:, :, :, None] + (k @ p["w_k"].T)[:, :, None]
        return np.tanh(features) @ p["w_v"]
    squares = ((q[:, :, :, None] - k[:, :, None]) ** 2).sum(-1)
    return -squares / 2 / p.get("sigma", 1.0) ** 2


def weights(s, visible, sink=None):
    s = np.where(visible, s, -np.inf)
    most = s.max(-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        most = np.maximum(most, sink[None, :, None, None])
    most = np.where(np.isfinite(most), most, 0)
    e = np.exp(s - most)
    total = e.sum(-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink[None, :, None, None] - most) * (visible.any(-1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        w = np.where(total > 0, e / total, 0)
        lse = np.log(total[..., 0]) + most[..., 0]
    return w, np.where(visible.any(-1), lse, -np.inf)


def shared(x, H):
    """Heads of keys, repeated for the queries that read them."""
    return x.repeat(H // x.shape[1], axis=1)
