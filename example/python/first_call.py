"""Attention on NumPy arrays, in five lines."""

import numpy as np

import qkv

q, k, v = np.random.default_rng(1).standard_normal((3, 1, 4, 12, 16)).astype(np.float32)  # (B, H, T, D) each
out, weights = qkv.attention(q, k, v, mask=qkv.causal() & qkv.window(4, 0), return_weights=True)
print(out.shape, "the last query attends to keys", np.flatnonzero(weights[0, 0, -1]))
