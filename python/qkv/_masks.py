"""Masks: which keys a query may attend to; true means visible. Masks are combined with & | ~.

Positions are aligned to the lower right: query i has the position p = i + S - T, the last query that of the last
key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, as_buffer, as_floats
from ._parts import Known


class Mask(Known):
    """A mask; mask.of(shape) is its object in the extension module, for a call of that CallShape."""

    __slots__ = ()

    def of(self, shape: Any) -> _core.Mask:
        raise NotImplementedError

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
    __slots__ = ("_made", "_parts", "_sign")

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


class _Table(Mask):
    """A mask from an array of booleans, whose axes are those of the scores: they depend on the axes of the call."""

    __slots__ = ("_by_axes", "_made", "_make", "_table")

    def __init__(self, make, table):
        super().__init__()
        self._made = None
        self._make, self._table, self._by_axes = make, table, {False: make(table, False)}
        shape = table[2] if isinstance(table, tuple) else table.shape  # of a tensor's buffer, or of an array
        if len(shape) != 3:
            self._made = self._by_axes[False]

    def of(self, shape):
        if self._made is not None:
            return self._made
        no_heads = shape.axes == 3
        if no_heads not in self._by_axes:
            self._by_axes[no_heads] = self._make(self._table, no_heads)
        return self._by_axes[no_heads]

    def __repr__(self):
        return repr(self._by_axes[False])


def causal(offset: int | None = None) -> Mask:
    """Keys up to the query's own position: j <= i + offset; offset is S - T by default."""
    return _Made(_core.causal(offset))


def window(left: int, right: int | None = None, offset: int | None = None) -> Mask:
    """Sliding window: p - left <= j <= p + right, p = i + offset; right is left by default, -1 means no limit."""
    return _Made(_core.window(left, left if right is None else right, offset))


def padding(lengths: Array) -> Mask:
    """Key padding: j < lengths[b], or lengths[b, i]: an array (B) or (B, T) of integers."""
    return _Made(_core.padding(_integers(lengths, "padding: lengths")))


def documents(ids: Array, of_keys: Array | None = None) -> Mask:
    """Keys of the query's own document: ids (B, T) of the queries, of_keys (B, S), by default the same."""
    queries = _integers(ids, "documents: of the queries")
    keys = queries if of_keys is None else _integers(of_keys, "documents: of the keys")
    return _Made(_core.documents(queries, keys))


def prefix(lengths: Array) -> Mask:
    """The first lengths[b] keys; prefix-LM is causal() | prefix(lengths)."""
    return padding(lengths)


def dense(table: Array) -> Mask:
    """A table of booleans that broadcasts to the scores (B, H, T, S) as in NumPy. It must not change afterwards."""
    return _Table(_core.dense, _integers(table, "dense: table"))


def blocks(table: Array, block: int) -> Mask:
    """Booleans of blocks of `block` queries by `block` keys: (B, H, T/block, S/block), broadcast as in dense()."""
    return _Table(lambda t, no_heads: _core.blocks(t, block, no_heads), _integers(table, "blocks: table"))


def dilated(radius: int, dilation: int) -> Mask:
    """Dilated window: every dilation-th key, `radius` of them on each side."""
    return _Made(_core.dilated(radius, dilation))


def strided(stride: int) -> Mask:
    """Strided pattern: a window of `stride` keys and every stride-th key before it (Child et al., 2019)."""
    return _Made(_core.strided(stride))


def every(step: int) -> Mask:
    """Every step-th key, counted from the query's own position: (p - j) mod step = 0."""
    return _Made(_core.every(step))


def first_keys(count: int) -> Mask:
    """The first `count` keys, in every row: beside a window, attention sinks (StreamingLLM, Xiao et al., 2024)."""
    return _Made(_core.first_keys(count))


def global_positions(positions: Iterable[int]) -> Mask:
    """Positions that see all keys and are visible to all queries."""
    return _Made(_core.global_positions(list(positions)))


def global_tokens(tokens: Array) -> Mask:
    """Positions that see all keys and are visible to all queries, of every row by itself: not 0 in (B, S)."""
    return _Made(_core.global_tokens(_integers(tokens, "global_tokens: tokens")))


def longformer(radius: int, positions: Iterable[int] = (0,)) -> Mask:
    """A window of `radius` on each side, and global positions (Beltagy et al., 2020)."""
    return _Made(_core.longformer(radius, list(positions)))


def bigbird(
    *,
    block: int = 64,
    window_blocks: int = 3,
    global_blocks: Iterable[int] = (0,),
    random_blocks: int = 3,
    heads: int = 1,
    seed: int = 1,
) -> Mask:
    """A window, global and random blocks (Zaheer et al., 2020)."""
    return _Made(_core.bigbird(block, window_blocks, list(global_blocks), random_blocks, heads, seed))


def bigbird_table(
    length: int,
    *,
    block: int = 64,
    window_blocks: int = 3,
    global_blocks: Iterable[int] = (0,),
    random_blocks: int = 3,
    heads: int = 1,
    seed: int = 1,
) -> np.ndarray:
    """The blocks of bigbird() for that length, (1, heads, blocks, blocks), as blocks() takes them."""
    return _core.bigbird_table(length, block, window_blocks, list(global_blocks), random_blocks, heads, seed) != 0


def local_m(radius: int) -> Mask:
    """|j - i| <= radius, i counted from the first query (Luong et al., 2015, monotonic)."""
    return _Made(_core.local_m(radius))


def around(centers: Array, radius: float) -> Mask:
    """|j - centers[b, h, i]| <= radius, centers (B, H, T), or (B, T) for all heads; no gradient flows to them."""
    return _Made(_core.around(as_floats(centers, "around: centers"), radius))


def _integers(x, name):
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
        if x.dtype.kind == "f":
            raise TypeError(f"{name}: expected integers or booleans, got {x.dtype}")
    elif type(x) is np.ndarray and x.dtype.kind in "iu" and x.dtype not in (np.int32, np.int64, np.int16, np.uint8):
        x = x.astype(np.int64)
    return as_buffer(x, name)
