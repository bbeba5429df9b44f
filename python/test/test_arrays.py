"""Arrays of every kind: what goes in is read where it lies, and what comes out is of the same kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qkv


def plain_numbers(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Numpy:
    kind = np.ndarray

    def array(self, x):
        return x.copy()

    def ones(self, *shape):
        return np.ones(shape, np.float32)


class Torch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.kind = self.torch.Tensor

    def array(self, x):
        return self.torch.from_numpy(x.copy())

    def ones(self, *shape):
        return self.torch.ones(shape)


class Jax:
    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.kind = self.jax.Array

    def array(self, x):
        return self.jax.numpy.asarray(x)

    def ones(self, *shape):
        return self.jax.numpy.ones(shape).block_until_ready()


class AnyDlpack:
    """An unknown library: its arrays have the two methods of DLPack and nothing of Python's arrays
    but a shape."""

    kind = np.ndarray  # what has no namespace to make arrays in is answered with NumPy's

    class Array:
        def __init__(self, x):
            self.x, self.shape, self.ndim = x, x.shape, x.ndim

        def __dlpack__(self, **more):
            return self.x.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    def array(self, x):
        return self.Array(x.copy())

    def ones(self, *shape):
        return self.Array(np.ones(shape, np.float32))


@pytest.fixture(params=[Numpy, Torch, Jax, AnyDlpack], ids=lambda kind: kind.__name__)
def library(request):
    return request.param()


shapes = (2, 4, 9, 16), (2, 2, 13, 16), (2, 2, 13, 8)


def test_the_kind_that_goes_in_comes_out_with_the_same_numbers(library):
    known = [plain_numbers(shape, n) for n, shape in enumerate(shapes)]
    slopes, lengths, upstream = plain_numbers(4, 5), np.array([13, 4], np.int32), plain_numbers((2, 4, 9, 8), 6)

    def results(make):
        options = dict(mask=qkv.causal() & qkv.padding(make(lengths)), modify=[qkv.alibi(make(slopes))])
        q, k, v = map(make, known)
        *grads, of_parts = qkv.attention_backward(make(upstream), q, k, v, **options)
        return [*qkv.attention(q, k, v, **options, return_weights=True, return_lse=True), *grads, *of_parts]

    for got, wanted in zip(results(library.array), results(lambda x: x), strict=True):
        assert isinstance(got, library.kind) and np.array_equal(np.asarray(got), wanted)


def test_results_are_of_the_library_of_the_queries(library):
    q, k, v = (plain_numbers(shape, n) for n, shape in enumerate(shapes))
    assert isinstance(qkv.attention(library.array(q), k, v), library.kind)
    assert isinstance(qkv.attention(q, library.array(k), library.array(v)), np.ndarray)


@pytest.mark.parametrize("kind", [Torch, Jax])
def test_bfloat16_in_bfloat16_out(kind):
    library = kind()
    q, k, v = (library.array(plain_numbers(shape, n)) for n, shape in enumerate(shapes))
    low = [x.bfloat16() if kind is Torch else x.astype("bfloat16") for x in (q, k, v)]
    out = qkv.attention(*low)
    assert isinstance(out, library.kind) and out.dtype == low[0].dtype
    back = [x.float() if kind is Torch else x.astype("float32") for x in (out, *low)]
    assert np.abs(np.asarray(back[0]) - np.asarray(qkv.attention(*back[1:]))).max() < 2e-2


def test_what_only_exists_while_jax_traces_is_refused():
    jax = Jax().jax
    x = jax.numpy.ones((1, 1, 2, 4))
    for transform in (jax.jit, jax.grad, jax.vmap):
        with pytest.raises(TypeError, match="q: expected an array"):
            transform(lambda q: qkv.attention(q, q, q))(x[None] if transform is jax.vmap else x)


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="needs the peak memory of a process, as Linux has it"
)
def test_nothing_is_copied(library):
    program = [sys.executable, Path(__file__).with_name("memory.py"), type(library).__name__]
    grown = json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    small = 16  # MB; the arrays have 64 and more
    made = {
        "queries and result": 128,
        "backward": 2 * 256,
        "a copy": 256,
    }  # the results; and a copy, to know that one is seen
    for name, peak in grown.items():
        assert peak < made.get(name, 0) + small, name
    assert grown.get("a copy", 256) > 256 - small, "a copy is seen"
    assert len(grown) >= 3


def test_arrays_that_may_only_be_read_are_read(library):
    arrays = [plain_numbers(shape, n) for n, shape in enumerate(shapes)]
    for x in arrays:
        x.flags.writeable = False
    assert np.isfinite(qkv.attention(*arrays)).all()
    if library.kind is np.ndarray:
        return
    q, k, v = map(library.array, arrays)
    before = [np.asarray(x).copy() for x in (q, k, v)]
    qkv.attention_backward(qkv.attention(q, k, v), q, k, v)
    assert all(np.array_equal(a, np.asarray(b)) for a, b in zip(before, (q, k, v)))


def test_a_result_keeps_its_memory_while_it_is_referenced(library):
    arrays = [library.array(plain_numbers(shape, n)) for n, shape in enumerate(shapes)]
    out = qkv.attention(*arrays)
    before = np.asarray(out).copy()
    for seed in range(20):  # of the same size, so that memory that was given back would be written to
        qkv.attention(*(library.array(plain_numbers(shape, 50 + seed)) for shape in shapes))
    assert np.array_equal(np.asarray(out), before)
