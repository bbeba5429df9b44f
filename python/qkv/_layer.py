"""The multi-head attention layer, without gradients. qkv.torch.MultiheadAttention is PyTorch's layer, for
training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from . import _core
from ._arrays import Array, Output, as_floats
from ._call import CallShape, checked_mask
from ._masks import Mask


class AttentionCache:
    """The state of earlier positions that MultiHeadAttention.step() keeps."""

    __slots__ = ("_cache",)

    def __init__(self) -> None:
        self._cache = _core.AttentionCache()

    def reorder(self, source: Sequence[int]) -> None:
        """Row b continues row source[b], as in beam search."""
        self._cache.reorder([int(n) for n in source])

    @property
    def length(self) -> int:
        return self._cache.length

    def __len__(self) -> int:
        return self._cache.length


class MultiHeadAttention:
    """Multi-head attention (Vaswani et al., 2017), grouped-query with kv_heads < heads, of any attention variant.

        layer = qkv.MultiHeadAttention(64, 8, variant="window=16+softcap=30", use="decoder")
        y = layer(x, mask=qkv.causal())                         # x (B, T, C), y (B, T, C)
        y, weights = layer(x, memory, return_weights=True)      # cross-attention
        cache = qkv.AttentionCache()
        y = layer.step(x[:, :1], cache)                         # self-attention one position at a time

    Parameters
    ----------
    d_model, heads, kv_heads : int
        C, of outputs; heads divides it, kv_heads (by default heads) divides heads.
    head_width : int
        D, C / heads by default; where it is given, heads need not divide C.
    query_width, key_width, value_width : int
        Of the sources of queries, keys and values, C by default.
    bias, fused_qkv, query_key_norm : bool
        Whether projections have a bias; one projection for queries, keys and values of self-attention; a layer norm
        of every query and key head.
    variant : str
        Mechanisms joined by +, as the command's --self-attention takes them; "full" by default.
    use : "encoder", "decoder" or "cross"
    seed : int
        Of the initial parameters.
    """

    __slots__ = ("_heads", "_layer")

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_width: int | None = None,
        query_width: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        bias: bool = True,
        fused_qkv: bool = False,
        query_key_norm: bool = False,
        variant: str = "full",
        use: Literal["encoder", "decoder", "cross"] = "encoder",
        seed: int = 1,
    ) -> None:
        self._heads = heads
        widths = [head_width or 0, query_width or 0, key_width or 0, value_width or 0]
        self._layer = _core.MultiHeadAttention(
            d_model, heads, kv_heads or 0, widths, [bias, fused_qkv, query_key_norm], variant, use, seed
        )

    def __call__(
        self,
        query: Array,
        key: Array | None = None,
        value: Array | None = None,
        *,
        mask: Mask | None = None,
        return_weights: bool = False,
    ) -> Array:
        """query (B, T, C); key and value (B, S, width), by default the query and the key. Returns y (B, T, C), or
        with return_weights (y, weights (B, H, T, S))."""
        output = Output(query)
        q = as_floats(query, "query")
        k = None if key is None else as_floats(key, "key")
        v = None if value is None else as_floats(value, "value")
        made = None
        if checked_mask(mask) is not None:
            S = (query if key is None else key).shape[1]
            made = mask.of(CallShape(query.shape[0], self._heads, query.shape[1], S))  # type: ignore[union-attr]
        out, weights = self._layer.forward(q, k, v, made, return_weights, output.numpy)
        return (output(out), output.statistics(weights)) if return_weights else output(out)

    def step(self, x: Array, cache: AttentionCache) -> Array:
        """Self-attention of the next position, x (B, 1, C), or of several: each attends to the positions in the
        cache, to the new ones before it and to itself."""
        output = Output(x)
        return output(self._layer.step(as_floats(x, "x"), cache._cache, output.numpy))

    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of the parameters by name: {"query.weight": (C, C), ...}."""
        return self._layer.parameters()

    def load(self, parameters: Mapping[str, Array]) -> None:
        """Sets parameters by name; all the others stay."""
        for name, value in parameters.items():
            self._layer.set_parameter(name, as_floats(value, name))


def describe_layer(layer: str, *, source_length: int = 25, target_length: int = 25, batch: int = 32) -> str:
    """Parameters, FLOPs and bytes of a single layer: describe_layer("attention d=512 heads=8 window=64")."""
    return _core.describe_layer(str(layer), int(source_length), int(target_length), int(batch))
