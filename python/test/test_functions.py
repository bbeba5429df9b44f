"""Masks, score modifications and scores that are Python functions: evaluated on pieces, differentiated, from any
thread."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import plain
import qkv
from formula import B, D, E, H, S, T, numbers, qkv_arrays

try:
    import torch

    import qkv.torch
except ImportError:
    torch = None

with_torch = pytest.mark.skipif(torch is None, reason="tensors")
slopes = numbers(H, seed=4)


def expect_near(got, wanted, tolerance=1e-5):
    assert got.shape == wanted.shape
    assert np.abs(np.asarray(got, np.float64) - wanted).max() <= tolerance * max(1e-3, np.abs(wanted).max())


def double_inputs():
    return [x.astype(np.float64) for x in qkv_arrays()]


@pytest.fixture(params=[1, 4])
def threads(request):
    before = qkv.threads()
    qkv.set_threads(request.param)
    yield request.param
    qkv.set_threads(before)


# masks

rules = {
    "of positions": (lambda b, h, i, j: i >= j, lambda b, h, i, j: i >= j),
    "of heads": (lambda b, h, i, j: (i + j + h) % 3 > 0, lambda b, h, i, j: (i + j + h) % 3 > 0),
    "of the batch": (lambda b, h, i, j: (i + j) % (b + 2) == 0, lambda b, h, i, j: (i + j) % (b + 2) == 0),
    "of keys": (lambda b, h, i, j: j % 5 != 0, lambda b, h, i, j: (j + 0 * i) % 5 != 0),
    "all": (lambda b, h, i, j: np.True_, lambda b, h, i, j: i >= 0),
}


@pytest.mark.parametrize("name", rules)
def test_a_mask_function_shows_what_it_says(name, threads):
    rule, wanted = rules[name]
    weights = qkv.attention(*qkv_arrays(), mask=qkv.mask_mod(rule), return_weights=True)[1]
    assert np.array_equal(weights > 0, np.broadcast_to(wanted(*np.ogrid[:B, :H, :T, :S]), (B, H, T, S)))


def test_a_mask_function_is_called_once_for_a_shape_and_never_on_all_scores():
    calls = []

    def rule(b, h, i, j):
        calls.append(np.broadcast(b, h, i, j).shape)
        return i >= j

    long = numbers(1, 8, 5000, 4)
    mask = qkv.mask_mod(rule)
    for _ in range(3):
        qkv.attention(long, long, long, mask=mask & qkv.causal())
    assert len(calls) == 1 + -(-5000 // 64) * 2  # the probe, then 64 queries by 4096 keys of the first head
    assert max(map(np.prod, calls)) <= 1 << 20


def test_a_mask_function_takes_calls_without_scores():
    mask = qkv.mask_mod(lambda b, h, i, j: i >= j)
    q, k, v = qkv_arrays()
    for x, y, z in ((q[:0], k[:0], v[:0]), (q[:, :, :0], k, v), (q, k[:, :, :0], v[:, :, :0])):
        assert not qkv.attention(x, y, z, mask=mask).any()


def test_the_memory_of_a_mask_function_is_bounded():
    program = """
import numpy as np, qkv, resource
mask = qkv.mask_mod(lambda b, h, i, j: (i * 7 + j * 13) % 11 < 5)
def call(n):
    x = np.ones((1, 1, n, 8), np.float32)
    qkv.attention(x, x, x, mask=mask)
call(2000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for n in range(2001, 2041):
    call(n)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 16  # MB; forty tables of booleans are 160


@with_torch
def test_a_mask_function_gets_tensors_where_the_queries_are_tensors():
    documents = torch.arange(S) // 40
    mask = qkv.mask_mod(lambda b, h, i, j: torch.eq(documents[i], documents[j]))
    tensors = [torch.from_numpy(x) for x in qkv_arrays()]
    ids = np.arange(S) // 40
    seen = np.broadcast_to(ids[:T, None] == ids, (B, H, T, S))
    wanted = qkv.attention(*qkv_arrays(), mask=qkv.dense(seen[0, 0]))
    for call in (qkv.attention, qkv.torch.attention):
        assert np.array_equal(call(*tensors, mask=mask).numpy(), wanted)


def test_masks_and_score_mods_of_functions_are_freed():
    class Big:
        pass

    def call():
        big = Big()
        options = {
            "mask": qkv.mask_mod(lambda b, h, i, j, big=big: i >= j),
            "modify": qkv.score_mod(lambda s, *_, big=big: s),
            "score": qkv.score_function(lambda q, k, *_, big=big: q @ k.swapaxes(-1, -2)),
        }
        qkv.attention(*qkv_arrays(), **options)
        return weakref.ref(big)

    assert call()() is None


# score modifications

mods = {  # function, its derivative by the score, and the formula
    "alibi": (lambda s, b, h, i, j: s + slopes[h] * (j - i), lambda g, s, b, h, i, j: g),
    "softcap": (
        lambda s, b, h, i, j: 5 * np.tanh(s / 5),
        lambda g, s, b, h, i, j: g * (1 - np.tanh(s / 5) ** 2),
    ),
    "causal": (
        lambda s, b, h, i, j: np.where(i >= j, s, -np.inf),
        lambda g, s, b, h, i, j: np.where(i >= j, g, 0),
    ),
    "of the batch": (lambda s, b, h, i, j: s * (b + 1), lambda g, s, b, h, i, j: g * (b + 1)),
}
at = np.ogrid[:B, :H, :T, :S]


def formula(name):
    return lambda s: mods[name][0](s, *at)


@pytest.mark.parametrize("name", mods)
def test_a_score_mod_is_its_formula(name, threads):
    mod = qkv.score_mod(mods[name][0])
    got = qkv.attention(*qkv_arrays(), modify=[mod, qkv.softcap(20)], mask=qkv.window(40), return_weights=True)
    p, j = plain.positions(T, S)
    modify = [formula(name), lambda s: np.where(s == -np.inf, s, 20 * np.tanh(s / 20))]
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = plain.attention(*double_inputs(), modify=modify, visible=abs(p - j) <= 40)
    for g, w in zip(got, wanted):
        expect_near(g, w)


def gradients(inputs, upstream, modify=(), score=plain.scaled_dot):
    """Of the formula, by differences along one direction at random for each array."""
    out = []
    for number, x in enumerate(inputs):
        direction = np.random.default_rng(number).standard_normal(x.shape)

        def loss(step, number=number, direction=direction):
            moved = [x + step * direction if n == number else x for n, x in enumerate(inputs)]
            with np.errstate(divide="ignore", invalid="ignore"):
                return (plain.attention(*moved, modify=modify, score=score)[0] * upstream).sum()

        out.append((direction, (loss(1e-8) - loss(-1e-8)) / 2e-8))
    return out


def expect_gradients(got, wanted):
    for g, (direction, slope) in zip(got, wanted, strict=True):
        size = np.sqrt(np.square(g, dtype=np.float64).sum())
        assert (g * direction).sum() == pytest.approx(slope, rel=1e-3, abs=1e-4 * size)


@pytest.mark.parametrize("name", mods)
def test_the_gradient_of_a_score_mod_is_that_of_its_backward_function(name, threads):
    upstream = numbers(B, H, T, E, seed=11)
    got = qkv.attention_backward(upstream, *qkv_arrays(), modify=qkv.score_mod(*mods[name]))
    expect_gradients(got[:3], gradients(double_inputs(), upstream, [formula(name)]))


def test_gradients_of_parameters_of_a_backward_function():
    w = numbers(H, seed=5)
    mod = qkv.score_mod(
        lambda s, b, h, i, j: s * w[h],
        lambda g, s, b, h, i, j: (g * w[h], np.where(np.arange(H) == h.item(), (g * s).sum(), 0)),
        parameters=[w],
    )
    upstream = numbers(B, H, T, E, seed=11)
    *_, (dw,) = qkv.attention_backward(upstream, *qkv_arrays(), modify=mod)
    wanted, eps = [], 1e-3
    for head in range(H):
        step = eps * (np.arange(H) == head)
        losses = [
            (
                plain.attention(*double_inputs(), modify=[lambda s, c=w + sign * step: s * c[:, None, None]])[0]
                * upstream
            ).sum()
            for sign in (1, -1)
        ]
        wanted.append((losses[0] - losses[1]) / (2 * eps))
    expect_near(dw, np.array(wanted), 1e-3)


def test_a_score_mod_without_a_backward_function_has_no_gradient_on_arrays():
    with pytest.raises(ValueError, match=r"score_mod\(bend\): it has no gradient on NumPy arrays: pass backward="):

        def bend(s, b, h, i, j):
            return s

        qkv.attention_backward(numbers(B, H, T, E), *qkv_arrays(), modify=qkv.score_mod(bend))


@with_torch
@pytest.mark.parametrize("how", ["closure", "parameters", "module", "method", "globals", "partial"])
def test_autograd_differentiates_a_score_mod_and_what_it_captures(how, threads):
    w = torch.from_numpy(slopes.copy()).requires_grad_()
    table = torch.from_numpy(numbers(H, 2 * S, seed=6)).requires_grad_()

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.table = torch.nn.Parameter(w.detach()), torch.nn.Parameter(table.detach())

        def forward(self, s, b, h, i, j):
            return torch.tanh(s) * self.w[h] + self.table[h, i - j + S]

    def function(s, b, h, i, j, w=None, table=None):
        return torch.tanh(s) * w[h] + table[h, i - j + S]

    if how == "closure":
        mod, learned = qkv.score_mod(lambda s, b, h, i, j: function(s, b, h, i, j, w, table)), (w, table)
    elif how == "parameters":
        captured = {"w": w, "table": table}
        mod = qkv.score_mod(lambda *x: function(*x, **captured), parameters=[w, table])
        learned = (w, table)
    elif how == "globals":
        names = {"w": w, "table": table, "torch": torch, "S": S}
        exec("def f(s, b, h, i, j): return torch.tanh(s) * w[h] + (lambda d: table[h, d])(i - j + S)", names)
        mod, learned = qkv.score_mod(names["f"]), (w, table)
    elif how == "method":
        module = Module()
        module.unused = torch.nn.Parameter(torch.ones(3))
        mod, learned = qkv.score_mod(lambda *x: module.forward(*x)), (module.w, module.table)
        assert len(mod.arrays) == 2
    elif how == "partial":
        mod, learned = qkv.score_mod(functools.partial(function, w=w, table=table)), (w, table)
    else:
        module = Module()
        mod, learned = qkv.score_mod(module), tuple(module.parameters())
    inputs = [torch.from_numpy(x).requires_grad_() for x in qkv_arrays()]
    upstream = torch.from_numpy(numbers(B, H, T, E, seed=11))
    out = qkv.torch.attention(*inputs, modify=mod)
    got = [out, *torch.autograd.grad(out, [*inputs, *learned], upstream)]

    exact = [x.detach().double().requires_grad_() for x in (*inputs, *learned)]
    index = [torch.from_numpy(x) for x in at]
    modify = [lambda s: function(s, *index, *exact[3:])]
    wanted = plain.attention(*exact[:3], modify=modify)[0]
    wanted = [wanted, *torch.autograd.grad(wanted, exact, upstream.double())]
    for g, w_ in zip(got, wanted, strict=True):
        expect_near(g.detach(), w_.detach().numpy(), 2e-5)


@with_torch
def test_a_score_mod_compiles_and_takes_bfloat16():
    w = torch.from_numpy(slopes.copy()).requires_grad_()
    mod = qkv.score_mod(lambda s, b, h, i, j: s + w[h] * (j - i))
    inputs = [torch.from_numpy(x).requires_grad_() for x in qkv_arrays()]

    def step(q, k, v):
        return qkv.torch.attention(q, k, v, modify=mod).sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for a, b in zip(*(torch.autograd.grad(f(*inputs), [*inputs, w]) for f in (compiled, step)), strict=True):
        expect_near(a, b.numpy(), 1e-6)
    low = [x.detach().bfloat16() for x in inputs]
    expect_near(
        qkv.torch.attention(*low, modify=mod).detach().float(),
        qkv.torch.attention(*inputs, modify=mod).detach().numpy(),
        2e-2,
    )


# scores


def l1(q, k, b, h, i, j):
    return -abs(q[..., :, None, :] - k[..., None, :, :]).sum(-1) / 4


def l1_backward(grad, q, k, b, h, i, j):
    sign = np.sign(q[..., :, None, :] - k[..., None, :, :]) * grad[..., None] / 4
    return -sign.sum(-2), sign.sum(-3)


def plain_l1(q, k):
    return -abs(q[:, :, :, None] - k[:, :, None]).sum(-1) / 4


def test_a_score_is_its_formula_forward_and_backward(threads):
    made = qkv.score_function(l1, l1_backward)
    with np.errstate(divide="ignore"):
        wanted = plain.attention(*double_inputs(), score=plain_l1)
    for g, w in zip(qkv.attention(*qkv_arrays(), score=made, return_weights=True, return_lse=True), wanted):
        expect_near(g, w)
    upstream = numbers(B, H, T, E, seed=11)
    got = qkv.attention_backward(upstream, *qkv_arrays(), score=made)
    expect_gradients(got[:3], gradients(double_inputs(), upstream, score=plain_l1))


@with_torch
def test_autograd_differentiates_a_score(threads):
    w = torch.from_numpy(numbers(D, D, seed=6) / 4).requires_grad_()
    made = qkv.score_function(lambda q, k, b, h, i, j: torch.tanh(q @ w) @ k.mT)
    inputs = [torch.from_numpy(x).requires_grad_() for x in qkv_arrays()]
    upstream = torch.from_numpy(numbers(B, H, T, E, seed=11))
    out = qkv.torch.attention(*inputs, score=made, mask=qkv.causal())
    got = [out, *torch.autograd.grad(out, [*inputs, w], upstream)]
    exact = [x.detach().double().requires_grad_() for x in (*inputs, w)]
    p, j = plain.positions(T, S)
    wanted = plain.attention(*exact[:3], score=lambda q, k: torch.tanh(q @ exact[3]) @ k.mT, visible=j <= p)[0]
    wanted = [wanted, *torch.autograd.grad(wanted, exact, upstream.double())]
    for g, w_ in zip(got, wanted, strict=True):
        expect_near(g.detach(), w_.detach().numpy(), 2e-5)


# errors, threads and processes


class Boom(Exception):
    pass


def boom(*_):
    raise Boom("of the function")


@pytest.mark.parametrize(
    "options",
    [
        lambda: {"mask": qkv.mask_mod(boom)},
        lambda: {"modify": qkv.score_mod(boom)},
        lambda: {"score": qkv.score_function(boom)},
        lambda: {"modify": qkv.score_mod(lambda s, *_: s, boom)},
    ],
)
def test_what_a_function_raises_is_raised(options, threads):
    with pytest.raises(Boom, match="of the function"):
        if qkv.attention(*qkv_arrays(), **options()) is not None:
            qkv.attention_backward(numbers(B, H, T, E), *qkv_arrays(), **options())
    assert np.isfinite(qkv.attention(*qkv_arrays())).all()


@pytest.mark.parametrize(
    "part, error, text",
    [
        (
            lambda: {"modify": qkv.score_mod(lambda s, *_: s[..., :3])},
            ValueError,
            r"score_mod\(<lambda>\): .*broadcasts",
        ),
        (lambda: {"modify": qkv.score_mod(lambda s, *_: s[None])}, ValueError, "broadcasts"),
        (
            lambda: {"score": qkv.score_function(lambda q, k, *_: q)},
            ValueError,
            r"score_function\(<lambda>\): .*broadcasts",
        ),
        (lambda: {"modify": qkv.score_mod(3)}, TypeError, "score_mod: expected a function, got int"),
        (lambda: {"modify": qkv.score_mod(lambda s, *_: "x")}, ValueError, "could not convert"),
    ],
)
def test_functions_that_return_something_else(part, error, text):
    with pytest.raises(error, match=text):
        qkv.attention(*qkv_arrays(), **part())


def test_backward_functions_that_return_something_else():
    mod = qkv.score_mod(lambda s, *_: s, lambda g, *_: (g, g))
    with pytest.raises(ValueError, match="backward returned 2 gradients, expected 1"):
        qkv.attention_backward(numbers(B, H, T, E), *qkv_arrays(), modify=mod)


def test_many_threads_call_functions_side_by_side():
    mod, mask = qkv.score_mod(mods["alibi"][0]), qkv.mask_mod(rules["of heads"][0])
    wanted = qkv.attention(*qkv_arrays(), modify=mod, mask=mask)
    got = [None] * 6

    def work(n):
        for _ in range(5):
            got[n] = qkv.attention(
                *qkv_arrays(), modify=mod, mask=qkv.mask_mod(rules["of heads"][0]) if n % 2 else mask
            )

    workers = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
        assert not w.is_alive()
    assert all(np.array_equal(g, wanted) for g in got)


def test_a_function_may_call_attention_itself():
    inner = lambda s, b, h, i, j: (
        s + qkv.attention(*qkv_arrays(), mask=qkv.mask_mod(lambda b, h, i, j: i >= j)).mean()
    )
    assert np.isfinite(qkv.attention(*qkv_arrays(), modify=qkv.score_mod(inner))).all()


def test_a_child_process_computes_with_functions_while_the_parent_does():
    mod, mask = qkv.score_mod(mods["alibi"][0]), qkv.mask_mod(rules["of heads"][0])
    compute = lambda: qkv.attention(*qkv_arrays(), modify=mod, mask=mask)
    wanted = compute()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            compute()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                os._exit(0 if np.array_equal(compute(), wanted) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        worker.join()


def test_ctrl_c_ends_a_call_with_a_slow_function():
    program = """
import numpy as np, qkv, time
def slow(s, *_):
    time.sleep(0.01)
    return s
x = np.ones((4, 8, 1024, 8), np.float32)
print("begun", flush=True)
try:
    qkv.attention(x, x, x, modify=qkv.score_mod(slow))
except KeyboardInterrupt:
    print("interrupted")
"""
    asked = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert asked.stdout.readline() == "begun\n"
    time.sleep(0.5)
    asked.send_signal(signal.SIGINT)
    assert asked.communicate(timeout=20)[0] == "interrupted\n"
