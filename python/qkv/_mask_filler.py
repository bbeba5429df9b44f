"""Fills the masks of a text with a masked language model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, overload

from . import _core
from ._inspection import Inspection, inspection_of
from ._model_folder import model_folder


@dataclass(frozen=True)
class MaskCandidate:
    """A token in the place of a mask."""

    id: int
    token: str  # of the vocabulary; U+2581 stands for a space
    probability: float


@dataclass(frozen=True)
class FilledText:
    """A text whose masks were filled; str() is the most likely text."""

    text: str
    probability: float  # the product of the probabilities of its tokens
    source: str
    masks: list[list[MaskCandidate]]  # of every mask, most likely first
    n_best: list[tuple[str, float]]  # texts with their probabilities, most likely first
    truncated: bool  # the text was too long for the model and has been cut

    def __str__(self) -> str:
        return self.text


class MaskFiller:
    """A masked language model with its vocabulary, from its folder. Several threads may use it at once.

    filler = qkv.MaskFiller("words")
    print(filler.fill("I am [MASK] today."))
    [mask] = filler.fill("I am [MASK] today.", top_k=10).masks
    """

    def __init__(self, model: str | os.PathLike[str], *, weights: Literal["f32", "bf16"] | None = None) -> None:
        """weights: the numbers they are held as, None: as they are stored. "bf16" takes half of the memory."""
        self.model = model_folder(model)
        self._filler = _core.MaskFiller(self.model, weights)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, weights: Literal["f32", "bf16"] | None = None
    ) -> MaskFiller:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights)

    @overload
    def fill(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        top_k: int = 5,
        n_best: int = 1,
        marker: str = "[MASK]",
        batch_tokens: int = 4096,
        max_input_tokens: int = 0,
    ) -> FilledText: ...
    @overload
    def fill(
        self,
        texts: Iterable[str],
        *,
        top_k: int = 5,
        n_best: int = 1,
        marker: str = "[MASK]",
        batch_tokens: int = 4096,
        max_input_tokens: int = 0,
    ) -> list[FilledText]: ...

    def fill(
        self,
        texts: str | Iterable[str],
        *,
        top_k: int = 5,
        n_best: int = 1,
        marker: str = "[MASK]",
        batch_tokens: int = 4096,
        max_input_tokens: int = 0,
    ) -> FilledText | list[FilledText]:
        """The most likely tokens for each mask; a single result for a single text.

        top_k             number of candidates for each mask
        n_best            number of texts, the most likely of all combinations of candidates
        marker            the text that marks a mask; each mask stands for one token
        batch_tokens      maximum number of tokens in a batch
        max_input_tokens  longer texts are cut; 0: the limit of the model, or 4096 tokens if it has none

        Several masks of a text are filled independently of one another. In a vocabulary of subwords the space
        before a mask is part of its token. A result does not depend on the other texts.
        """
        lines = [texts] if isinstance(texts, str) else list(texts)
        out = []
        for source, (masks, found, truncated) in zip(
            lines, self._filler.fill(lines, top_k, n_best, marker, batch_tokens, max_input_tokens)
        ):
            candidates = [[MaskCandidate(*c) for c in mask] for mask in masks]
            text, probability = found[0]
            out.append(FilledText(text, probability, source, candidates, found, truncated))
        return out[0] if isinstance(texts, str) else out

    def inspect(self, text: str, *, marker: str = "[MASK]") -> Inspection:
        """The attention weights of every layer and head for a text; masks are filled by the most likely tokens."""
        return inspection_of(text, self._filler.inspect(text, marker))

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the model, config.json."""
        return json.loads(self._filler.config())

    def describe(self) -> str:
        """The model layer by layer: parameters, arithmetic, bytes."""
        return self._filler.describe()

    def __repr__(self) -> str:
        return f"qkv.MaskFiller({self.model!r})"
