"""Masks written as Python functions: see _function_arrays.py for their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._arrays import torch_of
from ._function_arrays import broadcasts, index_array, name_of, returned
from ._masks import Mask


class _MaskMod(Mask):
    """The function is evaluated once for a shape, 64 queries by 4096 keys at a time, and kept as a map of blocks.

    The maps of the last few shapes are kept. Where its answers have length 1 along the batch or the heads, it is
    evaluated only for the first one.
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
        at = [index_array(0, n, axis, shape.tensors) for axis, n in enumerate((B, H, t, s))]
        seen = _mask_answer(self._function, at, (B, H, t, s))
        return seen.shape[0] > 1, seen.shape[1] > 1

    def __repr__(self):
        return name_of("mask_mod", self._function)


def _mask_piece(function, tensors, batch, head, query, queries, key, keys):
    firsts, counts = (batch, head, query, key), (1, 1, queries, keys)
    at = [index_array(first, n, axis, tensors) for axis, (first, n) in enumerate(zip(firsts, counts))]
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
    returned(given, "mask_mod", "booleans")
    seen: np.ndarray = np.asarray(given.detach().numpy() if torch_of(given) else given)
    if seen.dtype != np.bool_:
        raise TypeError(f"mask_mod: the function must return booleans, got {seen.dtype}")
    seen = seen.reshape((1,) * (4 - seen.ndim) + seen.shape)
    if seen.ndim > 4 or not broadcasts(seen.shape, whole):
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
