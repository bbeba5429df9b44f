"""Masks, score modifications and scores written as Python functions.

A function is called on pieces of the scores, never on all of them, with index arrays that broadcast against them: b
(1, 1, 1, 1), h (1, 1, 1, 1), q_idx (1, 1, t, 1) and kv_idx (1, 1, 1, s). Query and key indices both count from 0,
as in PyTorch's FlexAttention. Arrays are of NumPy, or tensors of PyTorch where the queries of the call are tensors.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, as_floats, torch_of
from ._masks import Mask
from ._parts import Modify, Score


def _indices(first, count, axis, tensors):
    shape = [1, 1, 1, 1]
    shape[axis] = count
    at = np.arange(first, first + count).reshape(shape)
    return sys.modules["torch"].from_numpy(at) if tensors else at


def _fits(given, whole):
    return all(n in (1, m) for n, m in zip(given, whole))


def _name(kind, function):
    return f"{kind}({getattr(function, '__name__', type(function).__name__)})"


def _checked(kind, function):
    if not callable(function):
        raise TypeError(f"{kind}: expected a function, got {type(function).__name__}")


class _MaskMod(Mask):
    """The function is evaluated once for a shape, 64 queries by 4096 keys at a time, and kept as a map of blocks.

    The maps of the last few shapes are kept. Where its answers have length 1 along the batch or the heads, it is
    evaluated for the first one alone.
    """

    __slots__ = ("_axes", "_function", "_made_by_axes")
    _made = None
    _probe, _shapes = 1 << 20, 16

    def __init__(self, function):
        super().__init__()
        self._function, self._axes, self._made_by_axes = function, {}, {}

    def of(self, shape):
        key = (*shape[:4], shape.tensors)
        axes = self._axes.get(key)
        if axes is None:
            if len(self._axes) == self._shapes:
                self._axes.pop(next(iter(self._axes)))
            axes = self._axes[key] = (*self._differs(shape), shape.tensors)
        made = self._made_by_axes.get(axes)
        if made is None:
            # Without a reference to this object: cycles through the extension module would never be freed.
            piece = functools.partial(_mask_piece, self._function, axes[2])
            made = self._made_by_axes[axes] = _core.mask_mod(piece, repr(self), *axes[:2])
        return made

    def _differs(self, shape):
        """Whether the answers differ between batch rows, and between heads: their shape for the first queries."""
        B, H, T, S = shape[:4]
        t = min(T, 64)
        s = min(S, max(1, self._probe // max(1, B * H * t)))
        at = [_indices(0, n, axis, shape.tensors) for axis, n in enumerate((B, H, t, s))]
        seen = _mask_answer(self._function, at, (B, H, t, s))
        return seen.shape[0] > 1, seen.shape[1] > 1

    def __repr__(self):
        return _name("mask_mod", self._function)


def _mask_piece(function, tensors, batch, head, query, queries, key, keys):
    firsts, counts = (batch, head, query, key), (1, 1, queries, keys)
    at = [_indices(first, n, axis, tensors) for axis, (first, n) in enumerate(zip(firsts, counts))]
    seen = np.broadcast_to(_mask_answer(function, at, counts), counts)
    return np.ascontiguousarray(seen[0, 0]).view(np.uint8)


def _mask_answer(function, at, whole):
    try:
        given = function(*at)
    except (ValueError, RuntimeError) as error:
        if "ambiguous" not in str(error):
            raise
        raise ValueError(
            "mask_mod: the function is called with index arrays b, h, q_idx, kv_idx and must return an array of "
            f"booleans: use & | ~ instead of and, or, not; it raised: {error}"
        ) from error
    seen: np.ndarray = np.asarray(given.detach().numpy() if torch_of(given) else given)
    if seen.dtype != np.bool_:
        raise TypeError(f"mask_mod: the function must return booleans, got {seen.dtype}")
    seen = seen.reshape((1,) * (4 - seen.ndim) + seen.shape)
    if seen.ndim > 4 or not _fits(seen.shape, whole):
        raise ValueError(
            f"mask_mod: the function returned shape {seen.shape}; expected one that broadcasts to "
            f"(b,h,t,s) = {whole}"
        )
    return seen


def mask_mod(function: Callable[..., Any]) -> Mask:
    """A mask from function(b, h, q_idx, kv_idx) -> bool, FlexAttention's mask_mod.

        checkers = qkv.mask_mod(lambda b, h, q_idx, kv_idx: (q_idx + kv_idx) % 2 == h % 2)

    It is called on pieces of the index arrays, once for every shape, and must always return the same. Its answers
    are kept as a map of blocks: four bytes for a block of 64 by 128 that is all visible or all masked, a kilobyte
    for another.
    """
    if not callable(function):
        raise TypeError(
            f"mask_mod: expected a function (b, h, q_idx, kv_idx) -> bool, got {type(function).__name__}; a table "
            "of booleans is dense(table)"
        )
    return _MaskMod(function)


def _captured(function):
    """The tensors that require gradients among what a function refers to: its closure, its globals, a module."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ()
    found, seen, rest = {}, set(), [function]
    while rest:
        x = rest.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, torch.Tensor):
            found.update({id(x): x} if x.requires_grad else {})
        elif isinstance(x, torch.nn.Module):
            rest += x.parameters()
        elif isinstance(x, functools.partial):
            rest += [x.func, *x.args, *x.keywords.values()]
        elif inspect.ismethod(x):
            rest += [x.__self__, x.__func__]
        elif inspect.isfunction(x) and not str(x.__module__).startswith("torch."):
            rest += [cell.cell_contents for cell in x.__closure__ or () if cell != types.CellType()]  # not empty
            rest += [x.__globals__[name] for name in _names(x.__code__) if name in x.__globals__]
    return tuple(found.values())


def _names(code):
    inner = (constant for constant in code.co_consts if inspect.iscode(constant))
    return {*code.co_names, *(name for one in inner for name in _names(one))}


def _used(function, tensors):
    """Those of the tensors that a score modification depends on, seen on one score."""
    torch = sys.modules["torch"]
    at = [torch.zeros(1, 1, 1, 1, dtype=torch.int64) for _ in range(4)]
    with torch.enable_grad(), _with_autograd(torch):
        out = torch.as_tensor(function(torch.zeros(1, 1, 1, 1), *at))
        if not out.requires_grad:
            return ()
        grads = torch.autograd.grad(out.sum(), tensors, allow_unused=True, retain_graph=True)
    return tuple(x for x, g in zip(tensors, grads) if g is not None)


def _with_autograd(torch):
    """Autograd also within an operator, which PyTorch calls without it."""
    autograd = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)
    excluded = torch._C._dispatch_tls_local_exclude_set() - autograd
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)


class _Callbacks:
    """A function of tiles and its gradient, as the extension module calls them: with NumPy arrays of two axes."""

    def __init__(self, name, function, backward, parameters, shape_of_tiles):
        self.name, self.function, self.given_backward = name, function, backward
        self.parameters, self.shape_of_tiles = parameters, shape_of_tiles

    def forward(self, tensors, *arguments):
        tiles, shape, at = self._arguments(arguments, tensors)
        if not tensors:
            return self._scores(np.asarray(self.function(*tiles, *at)), shape)
        torch = sys.modules["torch"]
        with torch.no_grad():
            return self._scores(torch.as_tensor(self.function(*tiles, *at)).float(), shape).numpy()

    def backward(self, tensors, grad, *arguments):
        """The gradients of the tiles, and a list of those of the parameters."""
        tiles, shape, at = self._arguments(arguments, tensors)
        upstream = grad[None, None]
        if tensors:
            upstream = sys.modules["torch"].from_numpy(upstream)
        found = (self._differentiate if self.given_backward is None else self._call_backward)(
            upstream, tiles, at, shape
        )
        of_tiles = (np.ascontiguousarray(g[0, 0], np.float32) for g in found[: len(tiles)])
        return (*of_tiles, [np.ascontiguousarray(g, np.float32) for g in found[len(tiles) :]])

    def _call_backward(self, upstream, tiles, at, shape):
        found = self.given_backward(upstream, *tiles, *at)
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
        with torch.enable_grad(), _with_autograd(torch):
            out = torch.as_tensor(self.function(*tiles, *at)).float().expand(1, 1, *shape)
            if out.requires_grad:
                grads = torch.autograd.grad(out, learned, upstream, allow_unused=True)
        by_input = {id(x): g for x, g in zip(learned, grads) if g is not None}
        return [by_input[id(x)].float().numpy() if id(x) in by_input else np.zeros(tuple(x.shape)) for x in inputs]

    def _arguments(self, arguments, tensors):
        *tiles, batch, head, query, key = arguments
        shape = self.shape_of_tiles(tiles)
        firsts, counts = (batch, head, query, key), (1, 1, *shape)
        at = [_indices(first, n, axis, tensors) for axis, (first, n) in enumerate(zip(firsts, counts))]
        from_numpy = sys.modules["torch"].from_numpy if tensors else lambda x: x
        return [from_numpy(x)[None, None] for x in tiles], shape, at

    def _scores(self, scores, shape):
        whole = (1, 1, *shape)
        if scores.ndim > 4 or not _fits(scores.shape[::-1], whole[::-1]):
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
        name = _name("score_mod", function)
        self.callbacks = _Callbacks(name, function, backward, parameters, lambda tiles: tiles[0].shape)
        super().__init__(None, parameters, name)

    def made(self, arrays=None, requires_grad=False, shape=None):
        return _made_from_function(self, _core.score_mod, requires_grad, arrays, shape)


class _ScoreFunction(Score):
    __slots__ = ("callbacks",)

    def __init__(self, function, backward, parameters):
        name = _name("score_function", function)
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
        parameters = _captured(function) if backward is None else ()
        parameters = _used(function, parameters) if parameters else ()
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

    It is called on tiles, in float32. backward(grad, q, k, b, h, q_idx, kv_idx) returns (dq, dk), and behind them
    the gradients of the parameters. The rest is as in score_mod().
    """
    _checked("score_function", function)
    if parameters is None:
        parameters = _captured(function) if backward is None else ()
    return _ScoreFunction(function, backward, parameters)
