"""Sentence embeddings: vectors of sentences from any model."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._described import add_options
from ._model_folder import model_folder
from ._options import EmbedOptions, Precision, WeightFormat

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Embedder:
    """A model of any architecture with the vocabulary of the text that it reads, from its folder: a masked or
    causal language model, or the encoder of a translation model. Several threads may use it at once.

        embedder = qkv.Embedder("words")
        a, b = embedder.embed(["It rains.", "It is raining."], normalize=True)
        similarity = a @ b
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
        self._embedder = _core.Embedder(self.model, weights, map, precision)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
    ) -> Embedder:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights, map=map, precision=precision)

    def embed(self, sentences: str | Iterable[str], **options: Unpack[EmbedOptions]) -> np.ndarray:
        """A vector for each sentence, float32 (N, C); (C,) for a single text. The options of `qkv embed`.

        A vector does not depend on the other sentences, nor on the number of threads (qkv.set_threads). A sentence
        that is too long is cut, with a warning. Ctrl-C ends it after the current batch.
        """
        lines = [sentences] if isinstance(sentences, str) else list(sentences)
        vectors, truncated = self._embedder.embed(lines, dict(options))
        if truncated:
            warnings.warn(
                f"{len(truncated)} of {len(lines)} sentences are longer than the model reads at once and were cut, "
                f"the first one with index {truncated[0]}",
                stacklevel=2,
            )
        return vectors[0] if isinstance(sentences, str) else vectors

    @property
    def width(self) -> int:
        """The length of a vector: the width C of the hidden states, once for each pooling of the folder."""
        return self._embedder.width()

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the model, config.json."""
        return json.loads(self._embedder.config())

    def describe(self) -> str:
        """The model layer by layer: parameters, arithmetic, bytes."""
        return self._embedder.describe()

    def __repr__(self) -> str:
        return f"qkv.Embedder({self.model!r})"


add_options(Embedder.embed, _core.decoding_options()["EmbedOptions"])
