"""Score modifications and scores written as Python functions: see _function_arrays.py for their arguments."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, as_floats, torch_of
from ._captured import captured, used, with_autograd
from ._function_arrays import broadcasts, index_array, name_of, returned
from ._parts import Modify, Score


def _checked(kind, function):
    if not callable(function):
        raise TypeError(f"{kind}: expected a function, got {type(function).__name__}")


def _contiguous(array):
    return np.asarray(
        array, np.float32, order="C"
    )  # np.ascontiguousarray() would make a number an array of one axis


class _Callbacks:
    """A function of tiles and its gradient, as the extension module calls them: with NumPy arrays of two axes."""

    def __init__(self, name, function, backward, parameters, shape_of_tiles):
        self.name, self.function, self.given_backward = name, function, backward
        self.parameters, self.shape_of_tiles = parameters, shape_of_tiles

    def forward(self, tensors, *arguments):
        tiles, shape, at = self._arguments(arguments, tensors)
        if not tensors:
            return self._scores(np.asarray(self._called(*tiles, *at)), shape)
        torch = sys.modules["torch"]
        with torch.no_grad():
            return self._scores(torch.as_tensor(self._called(*tiles, *at)).float(), shape).numpy()

    def backward(self, tensors, grad, *arguments):
        """The gradients of the tiles, and a list of those of the parameters."""
        tiles, shape, at = self._arguments(arguments, tensors)
        upstream = grad[None, None]
        if tensors:
            upstream = sys.modules["torch"].from_numpy(upstream)
        found = (self._differentiate if self.given_backward is None else self._call_backward)(
            upstream, tiles, at, shape
        )
        of_tiles = (_contiguous(g[0, 0]) for g in found[: len(tiles)])
        return (*of_tiles, [_contiguous(g) for g in found[len(tiles) :]])

    def _called(self, *arguments):
        return returned(self.function(*arguments), self.name, "the scores")

    def _call_backward(self, upstream, tiles, at, shape):
        found = returned(self.given_backward(upstream, *tiles, *at), f"{self.name}: backward", "the gradients")
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        inputs = [*tiles, *self.parameters]
        if len(found) != len(inputs):
            raise ValueError(f"{self.name}: backward returned {len(found)} gradients, expected {len(inputs)}")
        found = [x.detach().numpy() if torch_of(x) else np.asarray(x) for x in found]
        return [np.broadcast_to(g, tuple(x.shape)) for g, x in zip(found, inputs)]

    def _differentiate(self, upstream, tiles, at, shape):
        """By PyTorch's autograd."""
        torch = sys.modules["torch"]
        inputs = [*(x.requires_grad_() for x in tiles), *self.parameters]
        learned = [x for x in inputs if getattr(x, "requires_grad", False)]
        grads: Any = [None] * len(learned)
        with torch.enable_grad(), with_autograd(torch):
            out = torch.as_tensor(self._called(*tiles, *at)).float().expand(1, 1, *shape)
            if out.requires_grad:
                grads = torch.autograd.grad(out, learned, upstream, allow_unused=True)
        by_input = {id(x): g for x, g in zip(learned, grads) if g is not None}
        return [by_input[id(x)].float().numpy() if id(x) in by_input else np.zeros(tuple(x.shape)) for x in inputs]

    def _arguments(self, arguments, tensors):
        *tiles, batch, head, query, key = arguments
        shape = self.shape_of_tiles(tiles)
        firsts, counts = (batch, head, query, key), (1, 1, *shape)
        at = [index_array(first, n, axis, tensors) for axis, (first, n) in enumerate(zip(firsts, counts))]
        from_numpy = sys.modules["torch"].from_numpy if tensors else lambda x: x
        return [from_numpy(x)[None, None] for x in tiles], shape, at

    def _scores(self, scores, shape):
        whole = (1, 1, *shape)
        if scores.ndim > 4 or not broadcasts(scores.shape[::-1], whole[::-1]):
            raise ValueError(
                f"{self.name}: the function returned shape {tuple(scores.shape)}; expected one that broadcasts to "
                f"(1, 1, t, s) = {whole}"
            )
        if isinstance(scores, np.ndarray):
            return np.ascontiguousarray(np.broadcast_to(scores.astype(np.float32, copy=False), whole)[0, 0])
        return scores.expand(whole)[0, 0].contiguous()


def _made_from_function(part, make, requires_grad, arrays, shape):
    """The object of the extension module for a _ScoreMod or a _ScoreFunction."""
    callbacks, tensors = part.callbacks, shape is not None and shape.tensors
    if requires_grad and callbacks.given_backward is None and not tensors:
        raise ValueError(
            f"{callbacks.name}: it has no gradient on NumPy arrays: pass backward=, or call qkv.torch.attention"
        )
    backward = functools.partial(callbacks.backward, tensors) if requires_grad else None
    buffers = tuple(as_floats(x, callbacks.name) for x in (part.arrays if arrays is None else arrays))
    return make(functools.partial(callbacks.forward, tensors), backward, buffers, callbacks.name, requires_grad)


class _ScoreMod(Modify):
    __slots__ = ("callbacks",)

    def __init__(self, function, backward, parameters):
        name = name_of("score_mod", function)
        self.callbacks = _Callbacks(name, function, backward, parameters, lambda tiles: tiles[0].shape)
        super().__init__(None, parameters, name)

    def made(self, arrays=None, requires_grad=False, shape=None):
        return _made_from_function(self, _core.score_mod, requires_grad, arrays, shape)


class _ScoreFunction(Score):
    __slots__ = ("callbacks",)

    def __init__(self, function, backward, parameters):
        name = name_of("score_function", function)
        shape_of_tiles = lambda tiles: (tiles[0].shape[0], tiles[1].shape[0])
        self.callbacks = _Callbacks(name, function, backward, parameters, shape_of_tiles)
        super().__init__(None, parameters, name)

    def made(self, arrays=None, requires_grad=False, shape=None):
        return _made_from_function(self, _core.score_function, requires_grad, arrays, shape)


def score_mod(
    function: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    parameters: Sequence[Array] | None = None,
) -> Modify:
    """A score modification from function(score, b, h, q_idx, kv_idx) -> score, FlexAttention's score_mod.

        alibi = qkv.score_mod(lambda score, b, h, q_idx, kv_idx: score + slopes[h] * (kv_idx - q_idx))
        out = qkv.attention(q, k, v, modify=alibi)

    It is called on tiles, with scores (1, 1, t, s) in float32. A score of minus infinity is masked.

    backward(grad, score, b, h, q_idx, kv_idx) returns the gradient of the scores from that of the result, or a
    tuple with those of the parameters behind it. Without it, PyTorch's autograd differentiates the function in
    qkv.torch, and NumPy arrays have no gradient. parameters: the arrays that gradients flow to; by default the
    tensors of PyTorch that the function refers to, in its closure, its globals or a module, and that require one.
    """
    _checked("score_mod", function)
    if parameters is None:
        parameters = captured(function) if backward is None else ()
        parameters = used(function, parameters, name_of("score_mod", function)) if parameters else ()
    return _ScoreMod(function, backward, parameters)


def score_function(
    function: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    parameters: Sequence[Array] | None = None,
) -> Score:
    """A score from function(q, k, b, h, q_idx, kv_idx) -> scores (1, 1, t, s), q (1, 1, t, D), k (1, 1, s, D).

        def l2(q, k, b, h, q_idx, kv_idx):
            return -((q[..., None, :] - k[..., None, :, :]) ** 2).sum(-1)

        out = qkv.attention(q, k, v, score=qkv.score_function(l2))

    It is called on tiles, in float32. backward(grad, q, k, b, h, q_idx, kv_idx) returns (dq, dk), followed by
    the gradients of the parameters. The rest is as in score_mod().
    """
    _checked("score_function", function)
    if parameters is None:
        parameters = captured(function) if backward is None else ()
    return _ScoreFunction(function, backward, parameters)
