"""The arguments of a call: its shape, its parts, and their checks."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import torch_of
from ._masks import Mask
from ._parts import Modify, Normalize, Reweigh, Score, dot

MadeParts = tuple[Any, Any, Any, Any, Any]  # score, modify, mask, normalize, reweigh in the extension module


class CallShape(NamedTuple):
    """The scores (B, H, T, S) of a call, and what masks and parts read besides."""

    B: int
    H: int
    T: int
    S: int
    axes: int = 4  # of q, k, v as given
    tensors: bool = False  # Python functions get tensors of PyTorch instead of NumPy arrays


def shape_of(q, k):
    for x, name in ((q, "q"), (k, "k")):
        if type(x) is not np.ndarray and (not hasattr(x, "ndim") or getattr(x, "is_nested", False)):
            raise TypeError(
                f"{name}: expected an array (NumPy, PyTorch, or anything with DLPack), got {type(x).__name__}"
            )
    axes = q.ndim
    if axes != k.ndim or not 2 <= axes <= 4:
        raise ValueError(
            "attention: expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), or three, (B,T,D), or two, "
            f"(T,D), of all of them; q is {tuple(q.shape)}, k is {tuple(k.shape)}"
        )
    B = q.shape[0] if axes > 2 else 1
    H = q.shape[1] if axes == 4 else 1
    return CallShape(B, H, q.shape[-2], k.shape[-2], axes, torch_of(q) is not None)


class Parts:
    """The parts of one call, checked."""

    __slots__ = ("dropout", "mask", "modify", "normalize", "reweigh", "score")
    score: Score | None
    modify: tuple[Modify, ...]
    mask: Mask | None
    normalize: Normalize | None
    reweigh: tuple[Reweigh, ...]
    dropout: tuple[float, int] | None  # rate and seed

    def made(self, shape, arrays=None, requires_grad=False) -> MadeParts:
        """The objects of the extension module; `arrays`, in the order of arrays(), replace those of the parts."""
        rest = iter(arrays) if arrays is not None else None

        def one(part):
            if part is None:
                return None
            own = None if rest is None else [next(rest) for _ in part.arrays]
            return part.made(own, requires_grad, shape)

        score, modify, normalize = one(self.score), tuple(map(one, self.modify)), one(self.normalize)
        reweigh = tuple(map(one, self.reweigh))
        if self.dropout is not None:
            reweigh += (_core.weight_dropout(*self.dropout, 0),)
        return score, modify, None if self.mask is None else self.mask.of(shape), normalize, reweigh

    def arrays(self):
        parts = (self.score, *self.modify, self.normalize, *self.reweigh)
        return [x for part in parts if part is not None for x in part.arrays]


def parts_of(
    score=None, modify=(), mask=None, normalize=None, reweigh=(), dropout=0.0, seed=None, scale=None
) -> Parts:
    parts = Parts()
    parts.score = _checked(score, Score, "score")
    parts.modify = _several(modify, Modify, "modify")
    parts.mask = checked_mask(mask)
    parts.normalize = _checked(normalize, Normalize, "normalize")
    parts.reweigh = _several(reweigh, Reweigh, "reweigh")
    parts.dropout = None
    if scale is not None:
        scale = checked_number(scale, "scale")
        if score is not None:
            raise ValueError(
                f"scale belongs to the dot product, which {score!r} replaces; some scores have a scale of their own"
            )
        parts.score = dot(scale)
    if dropout:
        if seed is None:
            seed = int(np.random.default_rng().integers(1 << 63))
        parts.dropout = (checked_number(dropout, "dropout"), checked_seed(seed))
    return parts


def checked_number(x, name):
    if isinstance(x, (str, bytes)) or not hasattr(x, "__float__"):
        raise TypeError(f"{name}: expected a number, got {type(x).__name__}")
    return float(x)


def checked_seed(seed):
    if not hasattr(seed, "__index__"):
        raise TypeError(f"seed: expected an integer, got {type(seed).__name__}")
    if not 0 <= (seed := seed.__index__()) < 1 << 64:
        raise ValueError(f"seed: expected an integer from 0 to 2**64 - 1, got {seed}")
    return seed


def _checked(part, kind, name, hint=""):
    if part is None or isinstance(part, kind):
        return part
    raise TypeError(f"{name}: expected a {kind.__name__} of qkv, got {type(part).__name__}{hint}")


def checked_mask(mask):
    return _checked(
        mask, Mask, "mask", "; for a table of booleans use dense(table), for a function mask_mod(function)"
    )


def _several(parts, kind, name):
    if isinstance(parts, kind):
        return (parts,)
    if parts is None:
        return ()
    if not isinstance(parts, (tuple, list)):
        raise TypeError(f"{name}: expected a {kind.__name__} of qkv or a list of them, got {type(parts).__name__}")
    return tuple(_checked(part, kind, name) for part in parts)


def refuse_gradients(*arrays, instead="qkv.torch.attention"):
    """ValueError if a tensor requires a gradient, which this call would not record."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return
    for x in arrays:
        if isinstance(x, torch.Tensor) and x.requires_grad:
            raise ValueError(
                f"this call records no gradients, and a tensor requires one: use {instead}, or torch.no_grad()"
            )
