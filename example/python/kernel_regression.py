"""Attention without learning: Nadaraya-Watson regression, and the weights of four kernels as heat maps.

A query is a point x, a key the x of a noisy measurement, its value the measured y.
"""

import numpy as np

import qkv

rng = np.random.default_rng(1)


def curve(x):
    return 2 * np.sin(x) + x


def column(x):
    return x.astype(np.float32).reshape(1, 1, -1, 1)  # one sequence, one head, width 1


x_measured = np.sort(rng.uniform(0, 5, 40))
measured = curve(x_measured) + rng.normal(0, 0.5, 40)
x = np.arange(0, 5, 0.125)
q, k, v = column(x), column(x_measured), column(measured)

kernels = {
    "Gaussian": None,
    "boxcar": qkv.boxcar(),
    "Epanechnikov": qkv.epanechnikov(),
    "triangular": qkv.triangular(),
}
maps = {}
for name, kernel in kernels.items():
    out, weights = qkv.attention(q, k, v, score=qkv.gaussian(0.7), normalize=kernel, return_weights=True)
    print(f"{name:12} is {np.abs(out.ravel() - curve(x)).mean():.2f} off the curve")
    maps[name] = weights[0, 0]
labels = dict(rows=[f"{x:.1f}" for x in x], columns=[f"{x:.1f}" for x in x_measured])
qkv.heatmap(
    maps, **labels, title="Kernels", caption="rows: x of the queries, columns: x of the measurements", per_line=2
).save("kernels.svg")

widths = {}
for sigma in (0.1, 0.3, 1.0, 3.0):
    out, weights = qkv.attention(q, k, v, score=qkv.gaussian(sigma), return_weights=True)
    print(f"a Gaussian of width {sigma} is {np.abs(out.ravel() - curve(x)).mean():.2f} off the curve")
    widths[f"width {sigma}"] = weights[0, 0]
qkv.heatmap(
    widths,
    **labels,
    title="The Gaussian kernel, narrow to wide",
    caption="rows: x of the queries, columns: x of the measurements",
    per_line=2,
).save("widths.svg")
