"""Every mask and part, on every path, beside its formula in float64."""

import inspect

import numpy as np
import pytest

import plain
import qkv
from formula import B, E, G, H, S, T, cases, masks, numbers, parts, qkv_arrays, scores
from qkv import _masks, _parts

try:
    import torch

    import qkv.torch
except ImportError:
    torch = None

with_torch = pytest.mark.skipif(torch is None, reason="PyTorch makes the gradients of the formula")


def test_every_part_of_the_package_has_a_row():
    there_are = {
        name
        for module in (_masks, _parts)
        for name, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_")
    }
    there_are |= {"mask_mod"}
    there_are -= {"bigbird_table"}
    assert all(getattr(qkv, name) for name in there_are)
    assert there_are | {"weight_dropout"} == {"weight_dropout"} | {
        name for rows in parts.values() for row in rows.values() for name in row.names
    }


def errors(got, wanted):
    """The largest error, and the size of what was wanted; infinities must be the same ones."""
    got, wanted = (
        np.asarray(x.detach().double() if torch and isinstance(x, torch.Tensor) else x, dtype=np.float64)
        for x in (got, wanted)
    )
    finite = np.isfinite(wanted)
    assert got.shape == wanted.shape and np.array_equal(np.isfinite(got), finite)
    return np.abs(got[finite] - wanted[finite]).max(initial=0), np.abs(wanted[finite]).max(initial=1e-3)


def expect_near(got, wanted, tolerance):
    error, size = errors(got, wanted)
    assert error <= tolerance * size


@pytest.mark.parametrize("score", ["scaled dot", *scores])
@pytest.mark.parametrize("mask", masks)
def test_values_weights_and_lse_under_every_score_and_mask(score, mask):
    row, visible = scores.get(score), masks[mask].formula
    visible = visible() if callable(visible) else visible
    options = dict(score=row.make(*row.arrays)) if row else {}
    arrays = [x.astype(np.float64) for x in row.arrays] if row else []
    formula = dict(score=lambda q, k: row.formula(q, k, *arrays)) if row else {}
    got = qkv.attention(*qkv_arrays(), mask=masks[mask].make(), **options, return_weights=True, return_lse=True)
    with np.errstate(divide="ignore"):
        wanted = plain.attention(*(x.astype(np.float64) for x in qkv_arrays()), visible=visible, **formula)
    for g, w in zip(got, wanted, strict=True):
        expect_near(g, w, 5e-6)


@pytest.mark.parametrize("name", cases)
def test_gradients_follow_differences(name):
    """Along one direction at random for each array: enough to see any of its numbers wrong, and needs no tape."""
    case = cases[name]
    upstream = numbers(B, H, T, E, seed=11)
    *of_inputs, of_parts = qkv.attention_backward(upstream, *qkv_arrays(), **case.options(*case.arrays))
    inputs = [x.astype(np.float64) for x in (*qkv_arrays(), *case.arrays)]
    for number, got in enumerate([*of_inputs, *of_parts]):
        direction = numbers(*got.shape, seed=20 + number).astype(np.float64)

        def loss(step):
            moved = [x + step * direction if n == number else x for n, x in enumerate(inputs)]
            with np.errstate(divide="ignore"):
                return (plain.attention(*moved[:3], **case.formula(*moved[3:]))[0] * upstream).sum()

        wanted = (loss(1e-7) - loss(-1e-7)) / 2e-7
        assert (got * direction).sum() == pytest.approx(
            wanted, rel=1e-3, abs=1e-4 * np.sqrt((np.square(got, dtype=np.float64)).sum())
        )


def exact(case, inputs, arrays, dtype):
    """Values, and gradients of the inputs and of the arrays, computed plainly in a type; in the end float64."""
    tensors = [x.detach().to(dtype).requires_grad_() for x in (*inputs, *arrays)]
    out = plain.attention(*tensors[:3], **case.formula(*tensors[3:]))[0]
    grads = torch.autograd.grad(
        out, tensors, torch.from_numpy(numbers(B, H, T, E, seed=11)).to(dtype), materialize_grads=True
    )
    return [x.double() for x in (out, *grads)]


def with_the_tape(case, inputs, arrays):
    inputs, arrays = ([x.clone().requires_grad_() for x in some] for some in (inputs, arrays))
    out = qkv.torch.attention(*inputs, **case.options(*arrays))
    upstream = torch.from_numpy(numbers(B, H, T, E, seed=11)).to(out.dtype)
    return [out, *torch.autograd.grad(out, [*inputs, *arrays], upstream)]


def without_a_tape(case, inputs, arrays):
    options = case.options(*arrays)
    upstream = torch.from_numpy(numbers(B, H, T, E, seed=11)).to(inputs[0].dtype)
    dq, dk, dv, of_parts = qkv.attention_backward(upstream, *inputs, **options)
    return [qkv.attention(*inputs, **options), dq, dk, dv, *of_parts]


def with_numpy(case, inputs, arrays):
    inputs, options = [x.numpy() for x in inputs], case.options(*(x.numpy() for x in arrays))
    dq, dk, dv, of_parts = qkv.attention_backward(numbers(B, H, T, E, seed=11), *inputs, **options)
    return [torch.from_numpy(np.asarray(x)) for x in (qkv.attention(*inputs, **options), dq, dk, dv, *of_parts)]


@with_torch
@pytest.mark.parametrize(
    "type_, path",
    [
        (t, path)
        for t in ("float32", "bfloat16")
        for path in (with_the_tape, without_a_tape, with_numpy)
        if not (t == "bfloat16" and path is with_numpy)
    ],
)  # which NumPy has not
@pytest.mark.parametrize("name", cases)
def test_values_and_gradients_err_hardly_more_than_the_formula_in_the_same_type(name, type_, path):
    case, dtype = cases[name], getattr(torch, type_)
    inputs = [torch.from_numpy(x).to(dtype) for x in qkv_arrays()]
    arrays = [torch.from_numpy(x) for x in case.arrays]  # of a part: float32 in both types
    results = (
        path(case, inputs, arrays),
        exact(case, inputs, arrays, torch.float64),
        exact(case, inputs, arrays, dtype),
    )
    # Twice the error of the plain computation in bfloat16, three times in float32; or half of the last bit of the
    # largest number, and in float32 two units in the last place times sqrt(n), as the error of a sum of n terms
    # grows: over the keys, over the queries that share a key, or over the scores that an array's number is used
    # for.
    summed = [S, S, T * H // G, T * H // G, *(B * H * T * S / x.size for x in case.arrays)]
    times = 2 if dtype == torch.bfloat16 else 3
    for got, wanted, plainly, n in zip(*results, summed, strict=True):
        smallest = 2**-9 if dtype == torch.bfloat16 else 2 * 2**-23 * max(1, n) ** 0.5
        error, size = errors(got, wanted)
        assert error <= max(times * errors(plainly, wanted)[0], smallest * size)
