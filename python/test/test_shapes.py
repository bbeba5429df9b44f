"""Calls with two, three and four axes, tables that broadcast, and types that are computed in float32 and given
back."""

import subprocess
import sys

import numpy as np
import pytest

import qkv
from formula import B, D, E, S, T, numbers

try:
    import torch

    import qkv.torch
except ImportError:
    torch = None

with_torch = pytest.mark.skipif(torch is None, reason="tensors")
q, k, v = numbers(B, T, D, seed=1), numbers(B, S, D, seed=2), numbers(B, S, E, seed=3)
upstream, table = numbers(B, T, E, seed=4), numbers(B, T, S, seed=5)
wide = lambda x: x[:, None]  # with an axis of heads


def results(call, q, k, v, **options):
    return call(q, k, v, **options, return_weights=True, return_lse=True)


def expect_equal(got, wanted):
    for g, w in zip(got, wanted, strict=True):
        assert np.array_equal(np.asarray(g), np.asarray(w))


three = {
    "plain": (dict, dict),
    "causal": (lambda: {"mask": qkv.causal()}, lambda: {"mask": qkv.causal()}),
    "table": (lambda: {"mask": qkv.dense(table > 0)}, lambda: {"mask": qkv.dense(wide(table) > 0)}),
    "table of two axes, negated": (
        lambda: {"mask": ~qkv.dense(table[0] > 0)},
        lambda: {"mask": ~qkv.dense(table[None, :1] > 0)},
    ),
    "bias": (lambda: {"modify": qkv.bias(table)}, lambda: {"modify": qkv.bias(wide(table))}),
    "blocks": (
        lambda: {"mask": qkv.causal() | qkv.blocks(table[:, :2, :3] > 0, 50)},
        lambda: {"mask": qkv.causal() | qkv.blocks(wide(table[:, :2, :3]) > 0, 50)},
    ),
    "function": (
        lambda: {"mask": qkv.mask_mod(lambda b, h, i, j: (i + j + b) % 3 > 0)},
        lambda: {"mask": qkv.mask_mod(lambda b, h, i, j: (i + j + b) % 3 > 0)},
    ),
}


@pytest.mark.parametrize("name", three)
def test_three_axes_are_a_batch_with_one_head(name):
    options, of_four = (make() for make in three[name])
    got, wanted = (
        results(qkv.attention, q, k, v, **options),
        results(qkv.attention, *map(wide, (q, k, v)), **of_four),
    )
    expect_equal(got, [w[:, 0] for w in wanted])
    *grads, of_parts = qkv.attention_backward(upstream, q, k, v, **options)
    *wide_grads, of_wide_parts = qkv.attention_backward(wide(upstream), *map(wide, (q, k, v)), **of_four)
    expect_equal([*grads, *of_parts], [g[:, 0] for g in (*wide_grads, *of_wide_parts)])


def test_two_axes_are_one_sequence():
    one = [x[0] for x in (q, k, v)]
    for options in ({}, {"mask": qkv.dense(table[0] > 0)}, {"modify": qkv.bias(table[0])}, {"mask": qkv.window(9)}):
        got = results(qkv.attention, *one, **options)
        wanted = results(qkv.attention, *(x[None, None] for x in one), **options)
        expect_equal(got, [w[0, 0] for w in wanted])
    grads = qkv.attention_backward(upstream[0], *one)[:3]
    expect_equal(
        grads, [g[0, 0] for g in qkv.attention_backward(upstream[None, :1], *(x[None, None] for x in one))[:3]]
    )


def test_mean_weights_have_no_axis_of_heads():
    x = numbers(B, 4, T, D)
    weights = qkv.attention(x, x, x, return_weights=True)[1]
    mean = qkv.attention(x, x, x, return_weights="mean")[1]
    assert mean.shape == (B, T, T) and np.abs(mean - weights.mean(1)).max() < 1e-6
    assert qkv.attention(q, k, v, return_weights="mean")[1].shape == (B, T, S)
    assert qkv.attention(q[0], k[0], v[0], return_weights="mean")[1].shape == (T, S)
    with pytest.raises(ValueError, match="return_weights: expected True, False or \"mean\", got 'all'"):
        qkv.attention(q, k, v, return_weights="all")


@with_torch
def test_tensors_of_all_numbers_of_axes_have_gradients():
    for cut in (lambda x: x, lambda x: x[0]):
        leaves = [cut(torch.from_numpy(x)).clone().requires_grad_() for x in (q, k, v)]
        mask, modify = qkv.dense(cut(table) > 0), [qkv.bias(torch.from_numpy(cut(table)))]
        out = qkv.torch.attention(*leaves, mask=mask, modify=modify)
        grads = torch.autograd.grad(out, leaves, cut(torch.from_numpy(upstream)))
        wanted = qkv.attention(*map(cut, (q, k, v)), mask=mask, modify=qkv.bias(cut(table)))
        *wanted_grads, _ = qkv.attention_backward(
            cut(upstream), *map(cut, (q, k, v)), mask=mask, modify=qkv.bias(cut(table))
        )
        expect_equal([out.detach(), *grads], [wanted, *wanted_grads])
        assert [x.shape for x in results(qkv.torch.attention, *leaves)] == [
            cut(torch.empty(n)).shape for n in ((B, T, E), (B, T, S), (B, T))
        ]


@pytest.mark.parametrize("name", ["float64", "float16"])
def test_other_floats_are_computed_in_float32_and_given_back(name):
    x, y, z = (a.astype(name) for a in (q, k, v))
    sink = numbers(1).astype(name)
    options = {"normalize": qkv.softmax_with_sink(sink), "modify": qkv.bias(table.astype(name))}
    single = {
        "normalize": qkv.softmax_with_sink(sink.astype(np.float32)),
        "modify": qkv.bias(table.astype(name).astype(np.float32)),
    }
    got = results(qkv.attention, x, y, z, **options)
    wanted = results(qkv.attention, *(a.astype(np.float32) for a in (x, y, z)), **single)
    of_statistics = "float64" if name == "float64" else "float32"
    assert [str(a.dtype) for a in got] == [name, of_statistics, of_statistics]
    expect_equal(got, [w.astype(t) for w, t in zip(wanted, (name, of_statistics, of_statistics))])
    *grads, of_parts = qkv.attention_backward(upstream.astype(name), x, y, z, **options)
    assert {str(g.dtype) for g in (*grads, *of_parts)} == {name}


@with_torch
@pytest.mark.parametrize("name", ["float64", "float16"])
def test_other_floats_of_tensors(name):
    leaves = [torch.from_numpy(x).to(getattr(torch, name)).requires_grad_() for x in (q, k, v)]
    out = qkv.torch.attention(*leaves)
    assert out.dtype == leaves[0].dtype
    assert all(g.dtype == out.dtype for g in torch.autograd.grad(out.sum(), leaves))
    with torch.no_grad():
        assert torch.equal(qkv.attention(*leaves), out) and torch.equal(qkv.torch.attention(*leaves), out)


def test_axes_that_differ_are_refused():
    for arguments in ((wide(q), k, v), (q, k, wide(v)), (q[0], k, v), (q[..., 0, 0], k, v)):
        with pytest.raises(ValueError, match=r"attention: expected four axes, q \(B,H,T,D\).*or three"):
            qkv.attention(*arguments)
        if torch is not None:
            with pytest.raises(ValueError, match="attention: expected four axes"):
                qkv.torch.attention(*map(torch.from_numpy, arguments))


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()


def test_submodules_are_imported_when_they_are_used():
    assert run("import qkv, sys; print('torch' in sys.modules, 'torch' in dir(qkv))") == ["False", "True"]
    with pytest.raises(AttributeError, match="module 'qkv' has no attribute 'attentoin'"):
        qkv.attentoin  # noqa: B018


@with_torch
def test_the_module_torch_needs_no_import_of_its_own():
    assert run("import qkv; print(qkv.torch.attention.__name__)") == ["attention"]
    pytest.importorskip("transformers")
    assert run("import qkv; print(qkv.huggingface.register.__name__)") == ["register"]
