"""Who may look at whom. Masks are combined with & | ~; true means "may look".

A query i stands on the key p = i + S - T: the last query on the last key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, as_buffer, torch_of
from ._parts import Known


class Mask(Known):
    """A mask; `mask.of(shape)` is what the extension module is given for a call of that shape (B, H, T, S)."""

    __slots__ = ()

    def __and__(self, other: Mask) -> Mask:
        return _Combined("&", self, _mask(other))

    def __or__(self, other: Mask) -> Mask:
        return _Combined("|", self, _mask(other))

    def __invert__(self) -> Mask:
        return _Combined("~", self)

    def __bool__(self):
        raise TypeError("masks are combined with & | ~; and, or, not would take one of them and drop the other")


def _mask(x):
    if isinstance(x, Mask):
        return x
    raise TypeError(f"a mask can be combined with another mask, not with {type(x).__name__}")


class _Made(Mask):
    __slots__ = ("_made",)

    def __init__(self, made):
        super().__init__()
        self._made = made

    def of(self, shape):
        return self._made

    def __repr__(self):
        return repr(self._made)


class _Combined(Mask):
    __slots__ = ("_sign", "_parts", "_made")

    def __init__(self, sign, *parts):
        super().__init__()
        self._sign, self._parts = sign, parts
        fixed = all(isinstance(p, _Made) or getattr(p, "_made", None) is not None for p in parts)
        self._made = self._combine([p._made for p in parts]) if fixed else None

    def _combine(self, made):
        if self._sign == "~":
            return ~made[0]
        return made[0] & made[1] if self._sign == "&" else made[0] | made[1]

    def of(self, shape):
        return self._made if self._made is not None else self._combine([p.of(shape) for p in self._parts])

    def __repr__(self):
        if self._sign == "~":
            return f"~({self._parts[0]!r})"
        return f"({self._parts[0]!r} {self._sign} {self._parts[1]!r})"


class _Rule(Mask):
    """A function of index arrays, asked once for each shape."""

    __slots__ = ("_rule", "_of_shape")
    _made = None

    def __init__(self, rule):
        super().__init__()
        self._rule, self._of_shape = rule, {}

    def of(self, shape):
        made = self._of_shape.get(shape)
        if made is None:
            made = self._of_shape[shape] = _core.dense(self._table(shape))
        return made

    def _table(self, shape):
        at = np.ogrid[tuple(slice(0, n) for n in shape)]
        try:
            seen = self._rule(*at)
        except ValueError as error:
            raise ValueError(
                "mask: the function was given index arrays (B,1,1,1), (1,H,1,1), (1,1,T,1), (1,1,1,S) and must answer with "
                f"arrays: & | ~ instead of and, or, not; it raised: {error}"
            ) from error
        if torch_of(seen):
            seen = seen.numpy()
        seen = np.asarray(seen)
        if seen.dtype != np.bool_:
            raise TypeError(f"mask: the function must answer with booleans, got {seen.dtype}")
        seen = seen.reshape((1,) * (4 - seen.ndim) + seen.shape)
        if seen.ndim > 4 or any(n not in (1, whole) for n, whole in zip(seen.shape, shape)):
            raise ValueError(f"mask: the function answered with shape {seen.shape}; expected one that broadcasts to (B,H,T,S) = {shape}")
        return np.ascontiguousarray(seen)

    def __repr__(self):
        return f"mask({getattr(self._rule, '__name__', 'function')})"


def mask(rule: Callable[..., Any]) -> Mask:
    """A mask of your own: rule(b, h, q, k) -> bool on index arrays that broadcast to (B, H, T, S), asked once a shape."""
    if not callable(rule):
        raise TypeError(f"mask: expected a function (b, h, q, k) -> bool, got {type(rule).__name__}; a table of booleans is dense(table)")
    return _Rule(rule)


def causal(offset: int | None = None) -> Mask:
    """A query looks at its own position and at earlier ones: j <= i + offset, where offset is S - T unless given."""
    return _Made(_core.causal(offset))


def window(left: int, right: int | None = None, offset: int | None = None) -> Mask:
    """p - left <= j <= p + right; right is left unless given, -1 is no limit."""
    return _Made(_core.window(left, left if right is None else right, offset))


def padding(lengths: Array) -> Mask:
    """j < lengths[b], or lengths[b, i]: an array (B) or (B, T) of integers."""
    return _Made(_core.padding(_integers(lengths, "padding: lengths")))


def documents(ids: Array, of_keys: Array | None = None) -> Mask:
    """Only within a document: ids (B, T) of the queries, of_keys (B, S) the same unless given."""
    queries = _integers(ids, "documents: of the queries")
    keys = queries if of_keys is None else _integers(of_keys, "documents: of the keys")
    return _Made(_core.documents(queries, keys))


def prefix(lengths: Array) -> Mask:
    """The first lengths[b] keys. Prefix attention is causal() | prefix(lengths)."""
    return padding(lengths)


def dense(table: Array) -> Mask:
    """Booleans (B, H, T, S), any axis 1."""
    return _Made(_core.dense(_integers(table, "dense: table")))


def blocks(table: Array, block: int) -> Mask:
    """Booleans of blocks of `block` queries by as many keys: (B, H, T/block, S/block), any of the first two axes 1."""
    return _Made(_core.blocks(_integers(table, "blocks: table"), block))


def dilated(reach: int, dilation: int) -> Mask:
    """Every dilation-th key, `reach` of them to both sides."""
    return _Made(_core.dilated(reach, dilation))


def strided(stride: int) -> Mask:
    """The pattern of Child et al. (2019): a window of `stride` keys and every stride-th key."""
    return _Made(_core.strided(stride))


def global_positions(positions: Iterable[int]) -> Mask:
    """Positions that see all and are seen by all."""
    return _Made(_core.global_positions(list(positions)))


def longformer(reach: int, positions: Iterable[int] = (0,)) -> Mask:
    """A window of `reach` to both sides, and global positions (Beltagy et al., 2020)."""
    return _Made(_core.longformer(reach, list(positions)))


def bigbird(*, block: int = 64, window_blocks: int = 3, global_blocks: Iterable[int] = (0,), random_blocks: int = 3, heads: int = 1,
            seed: int = 1) -> Mask:
    """A window, global and random blocks (Zaheer et al., 2020)."""
    return _Made(_core.bigbird(block, window_blocks, list(global_blocks), random_blocks, heads, seed))


def local_m(window: int) -> Mask:
    """|j - i| <= window, i counted from the first query (Luong et al., 2015)."""
    return _Made(_core.local_m(window))


def _integers(x, name):
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
        if x.dtype.kind == "f":
            raise TypeError(f"{name}: expected integers or booleans, got {x.dtype}")
    elif type(x) is np.ndarray and x.dtype.kind in "iu" and x.dtype not in (np.int32, np.int64, np.int16, np.uint8):
        x = x.astype(np.int64)
    return as_buffer(x, name)
