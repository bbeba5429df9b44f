"""Fills the masks of a text with a masked language model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from . import _core
from ._described import add_options
from ._inspection import Ablation, Inspection, ablation_of, inspection_of, list_of
from ._model_folder import model_folder
from ._options import FillMaskOptions, Precision, WeightFormat

if TYPE_CHECKING:
    from typing_extensions import Unpack


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

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
    ) -> None:
        """weights: the numbers they are held as, None: as they are stored. "bf16" takes half of the memory
        of "f32", "int8" a quarter, "q4_k" a seventh.
        map: use them in place in the mapped file: processes share them, and it is ready sooner; tokens take longer.
        The file must not be written in place or truncated meanwhile; replacing it by renaming is safe.
        precision: numbers that products are computed from; "bf16" rounds weights and what they are multiplied by,
        which is faster on processors with AVX512_BF16 or AMX."""
        self.model = model_folder(model)
        self._filler = _core.MaskFiller(self.model, weights, map, precision)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
    ) -> MaskFiller:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights, map=map, precision=precision)

    @overload
    def fill(self, texts: str, **options: Unpack[FillMaskOptions]) -> FilledText: ...  # type: ignore[overload-overlap]
    @overload
    def fill(self, texts: Iterable[str], **options: Unpack[FillMaskOptions]) -> list[FilledText]: ...

    def fill(self, texts: str | Iterable[str], **options: Unpack[FillMaskOptions]) -> FilledText | list[FilledText]:
        """The most likely tokens for each mask; a single result for a single text.

        Several masks of a text are filled independently of one another. In a vocabulary of subwords the space
        before a mask is part of its token. A result does not depend on the other texts.
        """
        lines = [texts] if isinstance(texts, str) else list(texts)
        out = []
        for source, (masks, found, truncated) in zip(lines, self._filler.fill(lines, dict(options))):
            candidates = [[MaskCandidate(*c) for c in mask] for mask in masks]
            text, probability = found[0]
            out.append(FilledText(text, probability, source, candidates, found, truncated))
        return out[0] if isinstance(texts, str) else out

    def inspect(self, text: str, *, marker: str = "[MASK]", ablate: str | Iterable[str] = ()) -> Inspection:
        """The attention weights of every layer and head for a text; masks are filled by the most likely tokens.
        ablate: heads whose outputs are zero meanwhile, "encoder.3.self.5"."""
        return inspection_of(text, self._filler.inspect(text, marker, list_of(ablate)))

    def ablate(self, heads: str | Iterable[str], texts: Iterable[str]) -> Ablation:
        """The loss of masked tokens without some heads, whose outputs are replaced by zero. Every token of the
        texts is masked once, every seventh at a time. heads: as for Generator.ablate(), "encoder.3.self.5"."""
        return ablation_of(self._filler.ablate(list_of(heads), list_of(texts)))

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the model, config.json."""
        return json.loads(self._filler.config())

    def describe(self) -> str:
        """The model layer by layer: parameters, arithmetic, bytes."""
        return self._filler.describe()

    def __repr__(self) -> str:
        return f"qkv.MaskFiller({self.model!r})"


add_options(MaskFiller.fill, _core.decoding_options()["FillMaskOptions"])
