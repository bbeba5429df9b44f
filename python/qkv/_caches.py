"""Keys and values of earlier positions, for decoding one position at a time."""

from __future__ import annotations

from collections.abc import Sequence

from . import _core
from ._arrays import Array, Output, as_floats
from ._call import CallShape, checked_mask
from ._masks import Mask
from ._operations import PadKey, buffers


class KeyValueCache:
    """KV cache: keys and values of the positions so far.

        cache = qkv.KeyValueCache()
        cache.append(k, v)                              # (B, G, n, D) and (B, G, n, E)
        out = qkv.attention(q, cache.keys, cache.values)
        cache.reorder([0, 0, 2])                        # row b continues row source[b]: beam search

    Appending copies only the new positions; keys and values are views.
    """

    __slots__ = ("_cache", "_output")

    def __init__(self) -> None:
        self._cache = _core.KeyValueCache()
        self._output: Output | None = None

    def append(self, k: Array, v: Array) -> None:
        self._output = Output(k)
        self._cache.append(as_floats(k, "k"), as_floats(v, "v"))

    def reorder(self, source: Sequence[int]) -> None:
        self._cache.reorder([int(n) for n in source])

    @property
    def keys(self) -> Array:
        return self._given(self._cache.keys)

    @property
    def values(self) -> Array:
        return self._given(self._cache.values)

    @property
    def length(self) -> int:
        return self._cache.length

    def __len__(self) -> int:
        return self._cache.length

    def _given(self, read):
        if self._output is None:
            raise ValueError("KeyValueCache: it is empty: append() keys and values first")
        return self._output(read(self._output.numpy))


class MultiTokenCache:
    """Multi-token attention one position at a time: the same bits as one call over all positions.

        cache = qkv.MultiTokenCache(pre_conv=kernel, mask=qkv.causal())
        out = cache.attend(q, k, v)                     # of the next position, or of several

    The options are those of multi_token_attention(). The mask is one that counts from the last key: causal(),
    window().
    """

    __slots__ = ("_cache", "_make", "_mask")

    def __init__(
        self,
        *,
        pre_conv: Array | None = None,
        pre_mix: Array | None = None,
        post_conv: Array | None = None,
        post_head: Array | None = None,
        post_mix: Array | None = None,
        pad_key: PadKey = "both",
        mask: Mask | None = None,
        scale: float | None = None,
    ) -> None:
        arrays = buffers("MultiTokenCache", (pre_conv, pre_mix, post_conv, post_head, post_mix))
        self._make = lambda visible: _core.MultiTokenCache(arrays, pad_key, visible, scale)
        self._mask = checked_mask(mask)  # may depend on the shape of the first queries
        self._cache = self._make(None)

    def attend(self, q: Array, k: Array, v: Array) -> Array:
        """q (B, H, t, D), k (B, G, t, D), v (B, G, t, E) of the next t positions; returns (B, H, t, E)."""
        if self._mask is not None:
            B, H = q.shape[:2]
            self._cache, self._mask = self._make(self._mask.of(CallShape(B, H, 1, 1))), None
        output = Output(q)
        return output(self._cache.attend(as_floats(q, "q"), as_floats(k, "k"), as_floats(v, "v"), output.numpy))

    def reorder(self, source: Sequence[int]) -> None:
        """Row b continues row source[b]."""
        self._cache.reorder([int(n) for n in source])

    @property
    def length(self) -> int:
        return self._cache.length

    def __len__(self) -> int:
        return self._cache.length
