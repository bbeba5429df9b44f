"""Attention without learning: Nadaraya-Watson regression, and the weights of four kernels as heat maps.

A query is a place, a key is the place of a noisy measurement, a value what was measured there.
"""

import numpy as np

import qkv

rng = np.random.default_rng(1)


def curve(x):
    return 2 * np.sin(x) + x


def column(x):
    return x.astype(np.float32).reshape(1, 1, -1, 1)  # one sequence, one head, width 1


measured_at = np.sort(rng.uniform(0, 5, 40))
measured = curve(measured_at) + rng.normal(0, 0.5, 40)
asked = np.arange(0, 5, 0.125)
q, k, v = column(asked), column(measured_at), column(measured)

kernels = {
    "Gaussian": None,
    "boxcar": qkv.boxcar(),
    "Epanechnikov": qkv.epanechnikov(),
    "triangular": qkv.triangular(),
}
maps = {}
for name, kernel in kernels.items():
    out, weights = qkv.attention(q, k, v, score=qkv.gaussian(0.7), normalize=kernel, return_weights=True)
    print(f"{name:12} is {np.abs(out.ravel() - curve(asked)).mean():.2f} off the curve")
    maps[name] = weights[0, 0]
places = dict(rows=[f"{x:.1f}" for x in asked], columns=[f"{x:.1f}" for x in measured_at])
qkv.heatmap(
    maps, **places, title="Kernels", caption="rows: where it was asked, columns: where it was measured", per_line=2
).save("kernels.svg")

widths = {}
for sigma in (0.1, 0.3, 1.0, 3.0):
    out, weights = qkv.attention(q, k, v, score=qkv.gaussian(sigma), return_weights=True)
    print(f"a Gaussian of width {sigma} is {np.abs(out.ravel() - curve(asked)).mean():.2f} off the curve")
    widths[f"width {sigma}"] = weights[0, 0]
qkv.heatmap(
    widths,
    **places,
    title="The Gaussian kernel, narrow to wide",
    caption="rows: where it was asked, columns: where it was measured",
    per_line=2,
).save("widths.svg")
