"""Masks, score modifications and scores written as Python functions.

A function is called on pieces of the scores, never on all of them, with index arrays that broadcast against them: b
(1, 1, 1, 1), h (1, 1, 1, 1), q_idx (1, 1, t, 1) and kv_idx (1, 1, 1, s). Query and key indices both count from 0,
as in PyTorch's FlexAttention. Arrays are of NumPy, or tensors of PyTorch where the queries of the call are tensors.
"""

from __future__ import annotations

import sys
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


def _tile_indices(batch, head, query, key, shape, tensors):
    counts = 1, 1, *shape
    return [_indices(n, counts[axis], axis, tensors) for axis, n in enumerate((batch, head, query, key))]


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
            tensors = axes[2]
            made = _core.mask_mod(lambda *piece: self._piece(tensors, *piece), repr(self), *axes[:2])
            self._made_by_axes[axes] = made
        return made

    def _differs(self, shape):
        """Whether the answers differ between batch rows, and between heads, seen on the first queries and keys."""
        B, H, T, S = shape[:4]
        t = min(T, 64)
        s = min(S, max(1, self._probe // max(1, B * H * t)))
        at = [_indices(0, n, axis, shape.tensors) for axis, n in enumerate((B, H, t, s))]
        seen = self._answer(at, (B, H, t, s))
        return seen.shape[0] > 1, seen.shape[1] > 1

    def _piece(self, tensors, batch, head, query, queries, key, keys):
        at = [
            _indices(first, count, axis, tensors)
            for axis, (first, count) in enumerate(((batch, 1), (head, 1), (query, queries), (key, keys)))
        ]
        whole = (1, 1, queries, keys)
        seen = np.broadcast_to(self._answer(at, whole), whole)
        return np.ascontiguousarray(seen[0, 0]).view(np.uint8)

    def _answer(self, at, whole):
        try:
            given = self._function(*at)
        except (ValueError, RuntimeError) as error:
            if "ambiguous" not in str(error):
                raise
            raise ValueError(
                "mask_mod: the function is called with index arrays b, h, q_idx, kv_idx and must return an array "
                f"of booleans: use & | ~ instead of and, or, not; it raised: {error}"
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

    def __repr__(self):
        return _name("mask_mod", self._function)


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
    """The tensors that a function of PyTorch refers to and that require gradients."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ()
    if isinstance(function, torch.nn.Module):
        return tuple(p for p in function.parameters() if p.requires_grad)
    found = []
    cells = getattr(function, "__closure__", None) or ()
    values = [cell.cell_contents for cell in cells]
    values += [
        *getattr(function, "args", ()),
        *(getattr(function, "keywords", None) or {}).values(),
    ]  # functools.partial
    for value in values:
        found += [value] if torch_of(value) is not None and value.requires_grad else []
        if isinstance(value, torch.nn.Module) or (callable(value) and hasattr(value, "__closure__")):
            found += _captured(value)
    return tuple({id(x): x for x in found}.values())


def _with_autograd(torch):
    """Autograd also within an operator, which PyTorch calls without it."""
    autograd = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)
    excluded = torch._C._dispatch_tls_local_exclude_set() - autograd
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)


class _Function:
    """What score_mod() and score_function() share: calls with NumPy arrays or with tensors, and gradients."""

    __slots__ = ()
    _function: Callable[..., Any]
    _backward: Callable[..., Any] | None
    _core: Callable[..., Any]
    _name: str
    arrays: tuple[Array, ...]
    _shape: Callable[[Sequence[np.ndarray]], tuple[int, int]]  # (queries, keys) of the arrays of a tile

    def made(self, arrays=None, requires_grad=False, shape=None):
        tensors = shape is not None and shape.tensors
        if requires_grad and self._backward is None and not tensors:
            raise ValueError(
                f"{self._name}: it has no gradient on NumPy arrays: pass backward=, or call qkv.torch.attention"
            )
        originals = self.arrays
        arrays = originals if arrays is None else arrays
        backward = self._differentiate(tensors, originals) if requires_grad else None
        buffers = tuple(as_floats(x, self._name) for x in arrays)
        return self._core(self._evaluate(tensors), backward, buffers, self._name, requires_grad)

    def _evaluate(self, tensors):
        """function(*tiles, b, h, q_idx, kv_idx) for the extension module: tiles of two axes in, scores of two
        out."""

        def evaluate(*arguments):
            tiles, shape, at = self._arguments(arguments, tensors)
            if not tensors:
                return self._checked(np.asarray(self._function(*tiles, *at)), shape)
            torch = sys.modules["torch"]
            with torch.no_grad():
                return self._checked(torch.as_tensor(self._function(*tiles, *at)).float(), shape).numpy()

        return evaluate

    def _differentiate(self, tensors, originals):
        given: Any = self._backward

        def by_function(grad, *arguments):
            tiles, _, at = self._arguments(arguments, tensors)
            upstream = grad[None, None]
            if tensors:
                upstream = sys.modules["torch"].from_numpy(upstream)
            found = given(upstream, *tiles, *at)
            found = list(found) if isinstance(found, (tuple, list)) else [found]
            count = len(tiles) + len(originals)
            if len(found) != count:
                raise ValueError(f"{self._name}: backward returned {len(found)} gradients, expected {count}")
            found = [x.detach().numpy() if torch_of(x) else np.asarray(x) for x in found]
            wanted = [x.shape for x in tiles] + [tuple(x.shape) for x in originals]
            return self._packed([_fitted(g, s) for g, s in zip(found, wanted)], len(tiles))

        def by_tape(grad, *arguments):
            torch = sys.modules["torch"]
            tiles, shape, at = self._arguments(arguments, tensors)
            inputs = [x.requires_grad_() for x in tiles]
            learned = [x for x in originals if x.requires_grad]
            with torch.enable_grad(), _with_autograd(torch):
                out = torch.as_tensor(self._function(*tiles, *at)).float().expand(1, 1, *shape)
                grads: Any = [None] * (len(inputs) + len(learned))
                if out.requires_grad:
                    upstream = torch.from_numpy(grad)[None, None]
                    grads = torch.autograd.grad(out, [*inputs, *learned], upstream, allow_unused=True)
            of_learned = dict(zip(map(id, learned), grads[len(inputs) :]))
            found = [*grads[: len(inputs)], *(of_learned.get(id(x)) for x in originals)]
            wanted = [*inputs, *originals]
            found = [torch.zeros(x.shape) if g is None else g.float() for g, x in zip(found, wanted)]
            return self._packed([g.numpy() for g in found], len(tiles))

        return by_function if given is not None else by_tape

    def _arguments(self, arguments, tensors):
        *tiles, batch, head, query, key = arguments
        shape = self._shape(tiles)
        at = _tile_indices(batch, head, query, key, shape, tensors)
        from_numpy = sys.modules["torch"].from_numpy if tensors else lambda x: x
        return [from_numpy(x)[None, None] for x in tiles], shape, at

    def _checked(self, scores, shape):
        whole = (1, 1, *shape)
        if scores.ndim > 4 or not _fits(scores.shape[::-1], whole[::-1]):
            raise ValueError(
                f"{self._name}: the function returned shape {tuple(scores.shape)}; expected one that broadcasts to "
                f"(1, 1, t, s) = {whole}"
            )
        if isinstance(scores, np.ndarray):
            return np.ascontiguousarray(np.broadcast_to(scores.astype(np.float32, copy=False), whole)[0, 0])
        return scores.expand(whole)[0, 0].contiguous()

    @staticmethod
    def _packed(grads, tiles):
        """What the extension module takes: the tiles' gradients with two axes, and a list of the others."""
        tiles_, others = grads[:tiles], grads[tiles:]
        return (
            *(np.ascontiguousarray(g[0, 0], np.float32) for g in tiles_),
            [np.ascontiguousarray(g, np.float32) for g in others],
        )


def _fitted(grad, shape):
    return np.broadcast_to(grad, tuple(shape))


class _ScoreMod(_Function, Modify):
    __slots__ = ("_backward", "_function")
    _core = staticmethod(_core.score_mod)

    def __init__(self, function, backward, parameters):
        self._function, self._backward = function, backward
        super().__init__(None, parameters, _name("score_mod", function))

    @staticmethod
    def _shape(tiles):
        return tiles[0].shape


class _Score(_Function, Score):
    __slots__ = ("_backward", "_function")
    _core = staticmethod(_core.score_function)

    def __init__(self, function, backward, parameters):
        self._function, self._backward = function, backward
        super().__init__(None, parameters, _name("score_function", function))

    @staticmethod
    def _shape(tiles):
        return tiles[0].shape[0], tiles[1].shape[0]


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
    tensors in the closure of the function that require one.
    """
    _checked("score_mod", function)
    return _ScoreMod(function, backward, _captured(function) if parameters is None else parameters)


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
    return _Score(function, backward, _captured(function) if parameters is None else parameters)
