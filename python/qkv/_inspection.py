"""The attention weights of a model for one text, and what its heads do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._picture import Picture


def attention_rollout(layers: Sequence[Any]) -> np.ndarray:
    """How much of each input token reaches each position through all layers (Abnar and Zuidema, 2020).

    layers: the weights (H, T, T) of the self-attention of each layer, the first one first. The result (T, T) is the
    product of W / 2 + I / 2 of the layers, W being the mean over the heads; rows sum to 1.
    """
    return _core.attention_rollout([np.asarray(layer, dtype=np.float32) for layer in layers])


def pattern_strengths(weights: Any, keys: Sequence[str], *, self_attention: bool = True) -> dict[str, np.ndarray]:
    """What heads do: for each pattern, the mean weight (H) that they have where it says; NaN: no query it is about.

    weights (H, T, S), keys: the S tokens. Patterns of self-attention, in which query t is at the position of key t:
    previous, current, next, distance (any other one), same (earlier copies of the token), induction (what followed
    the last copy); of cross-attention: diagonal; of both: first, separator (punctuation and special tokens).
    """
    found = _core.pattern_strengths(np.asarray(weights, dtype=np.float32), list(keys), self_attention)
    return {name: np.array([np.nan if s is None else s for s in heads]) for name, heads in found}


@dataclass(frozen=True, repr=False)
class AttentionMaps:
    """The weights of one kind of attention (encoder, decoder, cross) in all layers."""

    title: str  # "cross-attention"
    layers: list[np.ndarray] = field(compare=False)  # (H, T, S) each, the first layer first
    rows: list[str]
    columns: list[str]
    caption: str = ""  # what rows and columns are, where that is not plain
    use: str = "encoder"  # or "decoder", "cross"

    def rollout(self) -> np.ndarray:
        """attention_rollout() of the layers of a self-attention, (T, T)."""
        return attention_rollout(self.layers)

    def pattern_strengths(self) -> list[dict[str, np.ndarray]]:
        """pattern_strengths() of the heads of each layer."""
        self_attention = self.use != "cross"
        return [pattern_strengths(layer, self.columns, self_attention=self_attention) for layer in self.layers]

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

    def save(self, path: str | os.PathLike[str], *, rollout: bool = False) -> None:
        """The weights as .npz: an array (H, T, S) for each layer, "cross.3", and tokens, "cross.rows" and
        "cross.columns", for each of encoder, decoder and cross, and with rollout "encoder.rollout"; as .npy:
        (N, H, T, S) of the last of these attentions."""
        groups = [(m.title, m.layers, m.rows, m.columns, m.caption, m.use) for m in self.attention]
        _core.save_weights(groups, path, rollout)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Inspection({self.text!r}, log_probability={self.log_probability:.4f})"


@dataclass(frozen=True)
class AblatedHeads:
    """A model without some heads."""

    name: str  # "decoder.3.cross.5"
    loss: float  # of a token, in nats
    bleu: float | None  # of translations

    @property
    def perplexity(self) -> float:
        return float(np.exp(self.loss))


@dataclass(frozen=True)
class Ablation:
    """What a model loses on a test set without some of its heads."""

    whole: AblatedHeads
    ablated: list[AblatedHeads]  # in the order that was asked for
    texts: int
    tokens: int


def list_of(names: str | Iterable[str]) -> list[str]:
    """The names of heads that an argument gives."""
    return [names] if isinstance(names, str) else list(names)


def ablation_of(found: tuple[Any, ...]) -> Ablation:
    whole, ablated, texts, tokens = found
    return Ablation(AblatedHeads(*whole), [AblatedHeads(*one) for one in ablated], texts, tokens)


def inspection_of(source: str, seen: tuple[Any, ...]) -> Inspection:
    text, log_probability, of_tokens, tokens, truncated, groups = seen
    maps = [AttentionMaps(*group) for group in groups]
    return Inspection(source, text, log_probability, of_tokens, tokens, truncated, maps)
