"""The attention weights of a model for one text: every layer and head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._picture import Picture


@dataclass(frozen=True, repr=False)
class AttentionMaps:
    """The weights of one kind of attention (encoder, decoder, cross) in all layers."""

    title: str  # "cross-attention"
    layers: list[np.ndarray] = field(compare=False)  # (H, T, S) each, the first layer first
    rows: list[str]
    columns: list[str]
    caption: str = ""  # what rows and columns are, where that is not plain

    def __repr__(self) -> str:
        return f"AttentionMaps({self.title!r}, {len(self.layers)} layers of {self.layers[0].shape})"


@dataclass(frozen=True, repr=False)
class Inspection:
    """The attention weights of a model for one text: every layer and head."""

    source: str
    text: str  # the translation, or the text, its masks filled
    log_probability: float  # of the translation or text; of what fills the masks
    token_log_probabilities: list[float]  # none of a masked model
    tokens: list[str]  # of the translation or text, the end last
    truncated: bool
    attention: list[
        AttentionMaps
    ]  # encoder self-attention, decoder self-attention, cross-attention: those of the model

    def heatmap(self) -> Picture:
        groups = [(maps.title, maps.layers, maps.rows, maps.columns, maps.caption) for maps in self.attention]
        translated = self.attention[-1].title == "cross-attention"
        title, facts = self.source, {"source" if translated else "text": self.source}
        if translated or self.text != self.source:
            title += f" \N{RIGHTWARDS ARROW} {self.text}"
            facts["translation" if translated else "filled"] = self.text
        facts["log-probability"] = f"{self.log_probability:.4f}"
        return Picture(_core.attention_picture(groups, title, facts))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Inspection({self.text!r}, log_probability={self.log_probability:.4f})"


def inspection_of(source: str, seen: tuple[Any, ...]) -> Inspection:
    text, log_probability, of_tokens, tokens, truncated, groups = seen
    maps = [AttentionMaps(*group) for group in groups]
    return Inspection(source, text, log_probability, of_tokens, tokens, truncated, maps)
