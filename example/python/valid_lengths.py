"""Sequences of unequal lengths in one batch, with two scores: padding gets no weight.

All keys are equal, so the weights of a query are equal on all keys that are not padding.
"""

import numpy as np

import qkv

rng = np.random.default_rng(1)
lengths = qkv.padding([2, 6])  # of the two sequences
keys = np.ones((2, 1, 10, 2), np.float32)
values = np.tile(np.arange(40, dtype=np.float32).reshape(1, 1, 10, 4), (2, 1, 1, 1))

wide = rng.standard_normal((2, 1, 1, 20)).astype(np.float32)  # for the additive score: queries wider than keys
w_q, w_k, w_v = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 20), (8, 2), (8,)))
additive, additive_weights = qkv.attention(
    wide, keys, values, score=qkv.additive(w_q, w_k, w_v), mask=lengths, return_weights=True
)

narrow = rng.standard_normal((2, 1, 1, 2)).astype(np.float32)
dot, dot_weights = qkv.attention(narrow, keys, values, mask=lengths, return_weights=True)

print("additive:", *additive.reshape(2, 4).round(3).tolist())
print("dot:     ", *dot.reshape(2, 4).round(3).tolist())
qkv.heatmap(
    {"additive": additive_weights[:, 0, 0], "scaled dot product": dot_weights[:, 0, 0]},
    rows=["2 of 10", "6 of 10"],
    caption="rows: sequences, columns: keys",
).save("lengths.svg")
