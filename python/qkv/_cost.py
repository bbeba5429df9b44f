"""What attention and models compute, read and keep, and the same attention by different mechanisms."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from . import _core
from ._plot import Curves


class AttentionCost:
    """What an attention costs: numbers as attributes; str() explains them and shows how they grow with each size.

    cost = qkv.AttentionCost("window=256", heads=8, kv_heads=2, queries=4096, causal=True)
    cost.flops, cost.bytes, cost.intensity                # of a forward, f32
    cost.growth().save("growth.svg")

    mechanism: an attention variant, also with kv-heads=N, or with stored, whose weights are kept, joined by +. The
    sizes are B, H, G (0: H), D, T and S (0: T). Attributes: pairs, visible_pairs, flops, bytes, intensity,
    added_memory (beside q, k, v and the output), cache_bytes (of keys and values).
    """

    __slots__ = ("_cost",)

    def __init__(
        self,
        mechanism: str = "full",
        *,
        batch: int = 1,
        heads: int = 8,
        kv_heads: int = 0,
        head_width: int = 64,
        queries: int = 4096,
        keys: int = 0,
        causal: bool = False,
        cross: bool = False,
    ) -> None:
        self._cost = _core.AttentionCost(
            str(mechanism), _sizes(batch, heads, kv_heads, head_width, queries, keys, causal, cross)
        )

    @property
    def pairs(self) -> int:
        return self._cost.pairs

    @property
    def visible_pairs(self) -> int:
        return self._cost.visible_pairs

    @property
    def flops(self) -> float:
        return self._cost.flops

    @property
    def bytes(self) -> float:
        return self._cost.bytes

    @property
    def intensity(self) -> float:
        return self._cost.intensity

    @property
    def added_memory(self) -> float:
        return self._cost.added_memory

    @property
    def cache_bytes(self) -> float:
        return self._cost.cache_bytes

    def growth(self) -> Curves:
        """How the costs grow with each size."""
        return Curves(self._cost.growth())

    def __str__(self) -> str:
        return self._cost.text()

    def __repr__(self) -> str:
        return f"<qkv.AttentionCost: {self.visible_pairs:,} of {self.pairs:,} pairs, {self.flops:.3g} FLOP>"


class AttentionComparison:
    """The costs of mechanisms side by side: .rows is a list of dicts, str() a table, .curves() a plot."""

    __slots__ = ("_comparison",)

    def __init__(self, comparison: _core.AttentionComparison) -> None:
        self._comparison = comparison

    @property
    def rows(self) -> list[dict[str, Any]]:
        return json.loads(self._comparison.json())["rows"]

    def curves(self) -> Curves:
        return Curves(self._comparison.curves())

    def __str__(self) -> str:
        return self._comparison.table()

    def __repr__(self) -> str:
        return f"<qkv.AttentionComparison: {len(self.rows)} rows>"


def compare_attention(
    mechanisms: Sequence[str] = (),
    *,
    sweep: str = "length",
    measure: bool = False,
    batch: int = 1,
    heads: int = 8,
    kv_heads: int = 0,
    head_width: int = 64,
    queries: int = 4096,
    keys: int = 0,
    causal: bool = False,
    cross: bool = False,
) -> AttentionComparison:
    """The same attention by different mechanisms, for a sweep over one size; measure=True also times each call.

        found = qkv.compare_attention(["full", "window=256", "kv-heads=1"], sweep="length=512..4096", causal=True)
        print(found)
        found.curves().save("compare.svg")

    sweep: head-width, heads, queries, keys or length (of queries and keys), alone or with =FROM..TO. Mechanisms and
    sizes as for AttentionCost; without mechanisms: full, stored, multi-query, additive and some sparse ones.
    """
    if isinstance(mechanisms, str):
        raise TypeError("compare_attention: mechanisms must be a list of texts, got one text")
    sizes = _sizes(batch, heads, kv_heads, head_width, queries, keys, causal, cross)
    return AttentionComparison(
        _core.compare_attention([str(m) for m in mechanisms], str(sweep), bool(measure), sizes)
    )


def explain_model(
    model: str | os.PathLike[str], *, source_length: int = 25, target_length: int = 25, batch: int = 32
) -> str:
    """FLOPs, bytes and arithmetic intensity of a forward pass of a model in a folder, by parts, and its growth."""
    return _core.explain_model(os.fspath(model), int(source_length), int(target_length), int(batch))


def _sizes(
    batch: int, heads: int, kv_heads: int, head_width: int, queries: int, keys: int, causal: bool, cross: bool
) -> dict[str, Any]:
    return {
        "batch": int(batch),
        "heads": int(heads),
        "kv_heads": int(kv_heads),
        "head_width": int(head_width),
        "queries": int(queries),
        "keys": int(keys),
        "causal": bool(causal),
        "cross": bool(cross),
    }
