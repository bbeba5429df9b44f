"""Random calls, most of them wrong: each must give a result without NaN, or a ValueError or TypeError. Runs apart
from the tests.

    python python/test/fuzz.py 100000
"""

import random
import sys

import numpy as np

import qkv

try:
    import torch
except ImportError:
    torch = None


def length(r):
    return r.choice([0, 1, 1, 2, 3, 5, 8, 17])


def array(r, shape):
    kind = r.choices(
        ["float32", "float64", "int32", "bool", "float16", "complex64", ">f4"], [400, 1, 1, 1, 1, 1, 1]
    )[0]
    x = np.asarray(np.random.standard_normal(shape) * r.choice([0, 1, 1, 1, 100, 1e30])).astype(kind)
    change = r.randrange(200)
    if change == 0:
        x = x[..., ::-1]
    elif change == 1:
        x = np.asfortranarray(x)
    elif change == 2 and x.ndim > 1:
        x = x.swapaxes(0, 1)
    elif change == 3:
        x.flags.writeable = False
    elif change == 4:
        x = np.broadcast_to(x[..., :1], x.shape)
    elif change == 5 and torch and kind in ("float32", "float64", "int32", "bool"):
        x = torch.from_numpy(np.ascontiguousarray(x))
        x = x.bfloat16() if r.random() < 0.5 else x.to("meta") if r.random() < 0.1 else x
    elif change == 6:
        x = x.tolist()
    return x


def mask(r, B, H, T, S, depth=2):
    if depth and r.random() < 0.4:
        a, b = mask(r, B, H, T, S, depth - 1), mask(r, B, H, T, S, depth - 1)
        return r.choice([lambda: a & b, lambda: a | b, lambda: ~a])()
    n = r.randrange(-3, 20)
    return r.choice(
        [
            lambda: qkv.causal(r.choice([None, n])),
            lambda: qkv.window(n, r.choice([None, -1, n])),
            lambda: qkv.padding(
                np.random.randint(-1, S + 2, r.choice([(B,), (B, T), (B + 1,)])).astype(
                    r.choice(["int32", "int64", "uint8", "float32"])
                )
            ),
            lambda: qkv.documents(np.random.randint(0, 3, (B, T)), np.random.randint(0, 3, (B, S))),
            lambda: qkv.dense(np.random.random(r.choice([(B, H, T, S), (1, 1, T, S), (T, S)])) < 0.5),
            lambda: qkv.blocks(np.random.random((1, 1, 2, 2)) < 0.5, n),
            lambda: qkv.longformer(n, [r.randrange(-2, 9)]),
            lambda: qkv.bigbird(block=n, window_blocks=r.randrange(0, 5), random_blocks=r.randrange(-1, 3)),
            lambda: qkv.dilated(n, r.randrange(-1, 4)),
            lambda: qkv.strided(n),
            lambda: qkv.mask_mod(lambda b, h, i, j: (i + j) % 3 == 0),
        ]
    )()


def call(r):
    B, G, T, S, D, E = length(r), length(r), length(r), length(r), length(r), length(r)
    H = G * r.choice([1, 2]) if r.random() < 0.9 else length(r)
    wrong = lambda n: n + (r.random() < 0.01)
    q, k, v = (array(r, tuple(map(wrong, s))) for s in ((B, H, T, D), (B, G, S, D), (B, G, S, E)))
    options = {}
    if r.random() < 0.5:
        options["mask"] = mask(r, B, H, T, S)
    if r.random() < 0.3:
        options["score"] = r.choice(
            [
                lambda: qkv.dot(r.choice([0, -1, 0.5, float("nan")])),
                lambda: qkv.cosine(2),
                qkv.distance,
                lambda: qkv.gaussian(r.choice([-1, 0, 2])),
                lambda: qkv.bilinear(array(r, (wrong(D), D))),
                lambda: qkv.additive(array(r, (4, wrong(D))), array(r, (4, D)), array(r, (4,))),
                lambda: qkv.location(array(r, (length(r), D))),
            ]
        )()
    if r.random() < 0.3:
        options["modify"] = [
            r.choice(
                [
                    lambda: qkv.softcap(r.choice([-1, 0, 5])),
                    lambda: qkv.alibi(array(r, (wrong(H),))),
                    lambda: qkv.bias(array(r, (1, wrong(H), T, S))),
                    lambda: qkv.relative_bias(array(r, (32, wrong(H)))),
                    lambda: qkv.absolute_bias(array(r, (wrong(H), 4, r.choice([4, 5])))),
                    lambda: qkv.falcon_alibi(array(r, (wrong(H),)), r.choice([0.5, float("inf")])),
                    lambda: qkv.first_block_bias(r.choice([0, 4]), r.choice([-1, 3])),
                ]
            )()
        ]
    if r.random() < 0.2:
        options["normalize"] = r.choice(
            [lambda: qkv.softmax_with_sink(array(r, (wrong(H),))), qkv.boxcar, qkv.constant]
        )()
    if r.random() < 0.2:
        options["dropout"] = r.choice([-1, 0.1, 0.5, 1.0])
    if r.random() < 0.3:
        return qkv.attention_backward(array(r, (B, H, T, E)), q, k, v, **options)
    return qkv.attention(q, k, v, **options, return_weights=r.random() < 0.2)


def main(calls):
    refused = 0
    for number in range(calls):
        r = random.Random(number)
        np.random.seed(number)
        try:
            with np.errstate(all="ignore"):
                call(r)
        except (ValueError, TypeError):
            refused += 1
        except Exception:
            print(f"call {number}")
            raise
    print(f"{calls} calls, {refused} refused")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10000)
