"""A row for every mask and part of the package: how it is made, and its formula in terms of plain.py.

A part with arrays gets them as arguments, in both of its forms: theirs are the gradients that the tests ask for.
"""

from dataclasses import dataclass, field

import numpy as np

import plain
import qkv

B, H, G, T, S, D, E = 2, 4, 2, 70, 135, 16, 12


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def qkv_arrays():
    return numbers(B, H, T, D, seed=1), numbers(B, G, S, D, seed=2), numbers(B, G, S, E, seed=3)


@dataclass
class Row:
    """make(*arrays) is the part. formula(*arguments of the part, *arrays), or for masks what is visible."""

    names: tuple  # of the package, that this row is for
    make: callable
    formula: object
    arrays: list = field(default_factory=list)
    more: dict = field(
        default_factory=dict
    )  # other parts that it needs: options of plain.attention and of the call
    options: dict = field(default_factory=dict)


# masks

p, j = plain.positions(T, S)
i = p - (S - T)
lengths = np.array([101, 0], dtype=np.int32)
lengths_of_queries = (np.arange(B * T).reshape(B, T) * 7 % (S + 1)).astype(np.int32)
ids_of_queries = np.sort(np.arange(B * T).reshape(B, T) * 5 % 4, axis=1)
ids_of_keys = np.sort(np.arange(B * S).reshape(B, S) * 3 % 4, axis=1)
centers = np.random.default_rng(7).uniform(0, S, (B, H, T)).astype(np.float32)
table = np.random.default_rng(5).random((B, 1, T, S)) < 0.5
of_blocks = np.random.default_rng(6).random((1, H, -(-T // 16), -(-S // 16))) < 0.4
BIRD = dict(block=8, window_blocks=3, global_blocks=(0, 5), heads=H, seed=3)


def in_blocks(rows, columns):
    return (abs(rows // 8 - columns // 8) <= 1) | np.isin(rows // 8, (0, 5)) | np.isin(columns // 8, (0, 5))


def bird_with_draws():
    """Which blocks are drawn is not specified; that window and global blocks are visible, and how many are drawn,
    is."""
    bird = qkv.bigbird(random_blocks=2, **BIRD)
    seen = qkv.attention(*qkv_arrays(), mask=bird, return_weights=True)[1] > 0
    assert seen[:, :, in_blocks(p, j)].all()
    assert 0 < (seen & ~in_blocks(p, j)).mean() < 4 * 8 / S  # two a row and two that it is drawn by, on average
    return seen


def mask(name, make, visible):
    return Row((name,) if isinstance(name, str) else name, make, visible)


# Of every row by itself, i32 (B, S): of the keys, and of the queries by their positions.
tokens = np.zeros((B, S), np.int32)
tokens[0, [0, 99]] = tokens[1, 70] = 1
tokens_seen = (tokens[:, None, None, :] != 0) | (tokens[:, S - T :][:, None, :, None] != 0)


def global_(positions):
    return np.isin(p, positions) | np.isin(j, positions)


masks = {
    "causal": mask("causal", lambda: qkv.causal(), j <= p),
    "causal with an offset": mask("causal", lambda: qkv.causal(3), j <= i + 3),
    "window": mask("window", lambda: qkv.window(5), abs(p - j) <= 5),
    "window of two widths": mask("window", lambda: qkv.window(5, 2), (p - 5 <= j) & (j <= p + 2)),
    "window without an end": mask("window", lambda: qkv.window(-1, 2), j <= p + 2),
    "window with an offset": mask("window", lambda: qkv.window(9, 0, offset=1), (i + 1 - 9 <= j) & (j <= i + 1)),
    "padding": mask("padding", lambda: qkv.padding(lengths), j < lengths[:, None, None, None]),
    "padding of queries": mask(
        "padding", lambda: qkv.padding(lengths_of_queries), j < lengths_of_queries[:, None, :, None]
    ),
    "documents": mask(
        "documents",
        lambda: qkv.documents(ids_of_queries, ids_of_keys),
        ids_of_queries[:, None, :, None] == ids_of_keys[:, None, None, :],
    ),
    "prefix": mask(
        ("prefix", "causal"),
        lambda: qkv.causal() | qkv.prefix(lengths),
        (j <= p) | (j < lengths[:, None, None, None]),
    ),
    "dense": mask("dense", lambda: qkv.dense(table), table),
    "blocks": mask(
        "blocks", lambda: qkv.blocks(of_blocks, 16), of_blocks.repeat(16, 2).repeat(16, 3)[:, :, :T, :S]
    ),
    "dilated": mask("dilated", lambda: qkv.dilated(4, 3), (abs(p - j) <= 12) & ((p - j) % 3 == 0)),
    "strided": mask("strided", lambda: qkv.strided(7), (j <= p) & ((p - j < 7) | ((p - j) % 7 == 0))),
    "global positions": mask("global_positions", lambda: qkv.global_positions([0, 99]), global_([0, 99])),
    "global tokens": mask("global_tokens", lambda: qkv.global_tokens(tokens), tokens_seen),
    "longformer": mask("longformer", lambda: qkv.longformer(3, (0, 90)), (abs(p - j) <= 3) | global_([0, 90])),
    "bigbird": mask("bigbird", lambda: qkv.bigbird(random_blocks=0, **BIRD), in_blocks(p, j)),
    "bigbird that draws": mask("bigbird", lambda: qkv.bigbird(random_blocks=2, **BIRD), bird_with_draws),
    "dense, two axes": mask("dense", lambda: qkv.dense(table[0, 0]), table[0, 0]),
    "dense, three axes": mask("dense", lambda: qkv.dense(np.broadcast_to(table[0], (H, T, S))), table[0]),
    "first keys": mask(
        "first_keys",
        lambda: qkv.causal() & (qkv.window(5) | qkv.first_keys(7)),
        (j <= p) & ((p - j <= 5) | (j < 7)),
    ),
    "every": mask("every", lambda: qkv.every(7), (p - j) % 7 == 0),
    "around": mask("around", lambda: qkv.around(centers, 9.5), abs(j - centers[..., None]) <= 9.5),
    "local-m": mask("local_m", lambda: qkv.local_m(4), abs(i - j) <= 4),
    "not, and": mask("causal", lambda: ~qkv.causal() & qkv.window(9), (j > p) & (abs(p - j) <= 9)),
    "a function": mask(
        "mask_mod",
        lambda: qkv.mask_mod(lambda b, h, q, k: (q + k + h) % 3 != b),
        (i + j + np.arange(H)[:, None, None]) % 3 != np.arange(B)[:, None, None, None],
    ),
    "a function, and": mask(
        "mask_mod", lambda: qkv.causal() & qkv.mask_mod(lambda b, h, q, k: k % 2 == 0), (j <= p) & (j % 2 == 0)
    ),
}


# scores

F = 8


def features(q, k, w_v):
    return plain.library(q).tanh(q[:, :, :, None] + k[:, :, None]) @ w_v


def unit(x):
    return x / plain.library(x).sqrt((x * x).sum(-1))[..., None]


def squares(q, k):
    return ((q[:, :, :, None] - k[:, :, None]) ** 2).sum(-1)


matrix, w_q, w_k, w_v = (
    numbers(D, D, seed=6) / 4,
    numbers(F, D, seed=7) / 4,
    numbers(F, D, seed=8) / 4,
    numbers(F, seed=9),
)
scores = {
    "dot": Row(("dot",), lambda: qkv.dot(0.3), lambda q, k: 0.3 * (q @ plain.transposed(k))),
    "scaled dot": Row(("scaled_dot",), lambda: qkv.scaled_dot(), plain.scaled_dot),
    "cosine, gain": Row(
        ("cosine",),
        lambda g: qkv.cosine(4, g),
        lambda q, k, g: 4 * g * (unit(q) @ plain.transposed(unit(k))),
        [np.array([1.5], np.float32)],
    ),
    "cosine": Row(("cosine",), lambda: qkv.cosine(4), lambda q, k: 4 * (unit(q) @ plain.transposed(unit(k)))),
    "distance": Row(("distance",), lambda: qkv.distance(), lambda q, k: -squares(q, k) / 2),
    "gaussian": Row(("gaussian",), lambda: qkv.gaussian(2.5), lambda q, k: -squares(q, k) / 2 / 2.5**2),
    "gaussian, learned": Row(
        ("gaussian",), qkv.gaussian, lambda q, k, sigma: -squares(q, k) / 2 / sigma**2, [np.array([3], np.float32)]
    ),
    "bilinear": Row(("bilinear",), qkv.bilinear, lambda q, k, m: q @ m @ plain.transposed(k), [matrix]),
    "additive": Row(
        ("additive",), qkv.additive, lambda q, k, a, b, c: features(q @ a.T, k @ b.T, c), [w_q, w_k, w_v]
    ),
    "concat": Row(
        ("concat",),
        qkv.concat,
        lambda q, k, w, c: features(q @ w[:, :D].T, k @ w[:, D:].T, c),
        [np.concatenate([w_q, w_k], axis=1), w_v],
    ),
    "location": Row(
        ("location",), qkv.location, lambda q, k, w: (q @ w.T)[..., :S], [numbers(S + 3, D, seed=10) / 4]
    ),
}


# modifiers


def bucket(distance, both_ways, count, max_distance):
    """Of T5: near distances have a bucket each, far ones share buckets that grow with the distance."""
    half = count // 2 if both_ways else count
    n = abs(distance) if both_ways else np.maximum(-distance, 0)
    near = half // 2
    far = near + np.floor(np.log(np.maximum(n, 1) / near) / np.log(max_distance / near) * (half - near)).astype(int)
    return np.where(n < near, n, np.minimum(far, half - 1)) + (half if both_ways else 0) * (distance > 0)


def relative_bias(s, numbers_of_buckets, both_ways, max_distance):
    buckets = bucket(j - p, both_ways, numbers_of_buckets.shape[0], max_distance)
    return s + numbers_of_buckets[plain.library(s).asarray(buckets)].swapaxes(0, 2).swapaxes(1, 2)


def alibi(s, slopes):
    return s - slopes[:, None, None] * plain.library(s).asarray(abs(p - j))


NP = 100  # positions of a table of absolute_bias(): fewer than keys


def absolute(s, table):
    as_array = plain.library(s).asarray
    inside = (p < NP) & (j < NP)
    return s + table[:, as_array(np.minimum(p, NP - 1)), as_array(np.minimum(j, NP - 1))] * as_array(inside)


def bf16(x):
    """The nearest bfloat16: 8 significant bits, ties to even."""
    x = np.asarray(x, np.float64)
    unit = 2.0 ** (np.floor(np.log2(np.where(x == 0, 1, np.abs(x)))) - 7)
    return np.rint(x / unit) * unit


def falcon(s):
    slopes = np.array([0.5, 0.2, 0.1, 0.03], np.float32)
    return s + plain.library(s).asarray(0.25 * bf16(bf16(slopes)[:, None, None] * bf16(j)), dtype=s.dtype)


def first_block(s):
    counts_again = (j < 16) & (p >= 16) & (p // 16 < (S - 1) // 16)
    return s + plain.library(s).asarray(np.log(4) * counts_again, dtype=s.dtype)


modifiers = {
    "softcap": Row(("softcap",), lambda: qkv.softcap(2), lambda s: 2 * plain.library(s).tanh(s / 2)),
    "alibi": Row(("alibi",), qkv.alibi, alibi, [numbers(H, seed=4)]),
    "bias": Row(("bias",), qkv.bias, lambda s, b: s + b, [numbers(1, H, T, S, seed=4)]),
    "bias, two axes": Row(("bias",), qkv.bias, lambda s, b: s + b, [numbers(T, S, seed=4)]),
    "bias of keys": Row(("bias",), qkv.bias, lambda s, b: s + b, [numbers(B, 1, 1, S, seed=4)]),
    "absolute": Row(("absolute_bias",), qkv.absolute_bias, absolute, [numbers(H, NP, NP, seed=4)]),
    "falcon": Row(("falcon_alibi",), lambda: qkv.falcon_alibi([0.5, 0.2, 0.1, 0.03], 0.25), falcon),
    "first block": Row(("first_block_bias",), lambda: qkv.first_block_bias(16, 3), first_block),
    "relative": Row(
        ("relative_bias",), qkv.relative_bias, lambda s, t: relative_bias(s, t, True, 128), [numbers(32, H, seed=4)]
    ),
    "relative, behind": Row(
        ("relative_bias",),
        lambda t: qkv.relative_bias(t, bidirectional=False, max_distance=40),
        lambda s, t: relative_bias(s, t, False, 40),
        [numbers(12, H, seed=4)],
    ),
}


# normalizers

WIDTH = 5.5  # of the kernels: some keys lie within, some do not


def kernel(name, function):
    return Row(
        (name,),
        getattr(qkv, name),
        plain.kernel_weights(function),
        options=dict(score=qkv.gaussian(WIDTH)),
        more=dict(score=lambda q, k: -squares(q, k) / 2 / WIDTH**2),
    )


normalizers = {
    "sink": Row(("softmax_with_sink",), qkv.softmax_with_sink, plain.softmax, [numbers(H, seed=4)]),
    "boxcar": kernel("boxcar", lambda u: plain.library(u).where(u < 1, u * 0 + 1, 0)),
    "epanechnikov": kernel("epanechnikov", lambda u: plain.library(u).where(u < 1, 1 - u * u, 0)),
    "triangular": kernel("triangular", lambda u: plain.library(u).where(u < 1, 1 - u, 0)),
    "constant": kernel("constant", lambda u: u * 0 + 1),
}


# reweighers


def fading(w, place):
    xp = plain.library(w)
    return w * xp.exp(-((xp.asarray(j) - place[..., None]) ** 2) / (2 * 9.0**2))


reweighers = {
    "gaussian window": Row(
        ("gaussian_window",),
        lambda place: qkv.gaussian_window(place, 9.0),
        fading,
        [np.abs(numbers(B, H, T, seed=4)) * 40],
    ),
}


@dataclass
class Case:
    """A call, and what plain.attention gets for it: options(arrays) and formula(arrays)."""

    arrays: list
    options: callable
    formula: callable


def case_of(part, row):
    """A row in a call: half of the keys are masked, so that some tiles are partially masked."""
    if part == "mask":
        return Case(
            [],
            lambda: dict(mask=row.make()),
            lambda: dict(visible=row.formula() if callable(row.formula) else row.formula),
        )

    def options(*arrays):
        made = row.make(*arrays)
        return {"mask": qkv.causal(), **row.options, part: [made] if part in ("modify", "reweigh") else made}

    def formula(*arrays):
        of_row = lambda *x: row.formula(*x, *arrays)
        return {"visible": j <= p, **row.more, part: [of_row] if part in ("modify", "reweigh") else of_row}

    return Case(row.arrays, options, formula)


parts = {"mask": masks, "score": scores, "modify": modifiers, "normalize": normalizers, "reweigh": reweighers}
cases = {f"{part}: {name}": case_of(part, row) for part, rows in parts.items() for name, row in rows.items()}
cases["nothing"] = Case([], dict, dict)
cases["scale"] = Case([], lambda: dict(scale=0.3), lambda: dict(score=lambda q, k: 0.3 * (q @ plain.transposed(k))))
cases["several modifiers"] = Case(
    [numbers(H, seed=4), numbers(1, H, T, S, seed=5)],
    lambda slopes, b: dict(modify=[qkv.alibi(slopes), qkv.softcap(3), qkv.bias(b)], mask=qkv.causal()),
    lambda slopes, b: dict(
        modify=[lambda s: alibi(s, slopes), lambda s: 3 * plain.library(s).tanh(s / 3), lambda s: s + b],
        visible=j <= p,
    ),
)


def kept_by_dropout():
    """Which weights dropout keeps is a function of its seed and nothing else: what is seen once holds for every
    call."""
    _, dropped = qkv.attention(*qkv_arrays(), dropout=0.25, seed=7, return_weights=True)
    assert 0.24 < (dropped == 0).mean() < 0.26
    return dropped > 0


cases["weight dropout"] = Case(
    [],
    lambda: dict(reweigh=qkv.weight_dropout(0.25, 7)),
    lambda: dict(reweigh=[lambda w: w * plain.library(w).asarray(kept_by_dropout()) / 0.75]),
)
cases["dropout"] = Case(
    [],
    lambda: dict(dropout=0.25, seed=7),
    lambda: dict(reweigh=[lambda w: w * plain.library(w).asarray(kept_by_dropout()) / 0.75]),
)
