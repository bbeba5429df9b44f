"""The tokenizers of the models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal

from . import _core


class Tokenizer:
    """Sentences to token ids and back.

        tokenizer = qkv.Tokenizer.train(sentences, vocabulary_size=8000)
        ids = tokenizer.encode("I am cold.")            # without begin and end
        tokenizer.decode(ids)                           # "I am cold."
        tokenizer.save("source.model")                  # unigram, bpe, character: a file of SentencePiece
        tokenizer = qkv.Tokenizer.from_pretrained("gpt2")   # of a model of qkv, or of a published one

    The special tokens of a trained tokenizer are pad 0, bos 1, eos 2 and unk 3, and with wordpiece mask 4. The
    same sentences and options give the same file.
    """

    __slots__ = ("_tokenizer",)
    pad, bos, eos, unk = 0, 1, 2, 3

    def __init__(self, tokenizer: _core.Tokenizer) -> None:
        self._tokenizer = tokenizer

    @staticmethod
    def train(
        sentences: Iterable[str],
        *,
        type: Literal["unigram", "bpe", "character", "byte-bpe", "wordpiece"] = "unigram",
        vocabulary_size: int = 8000,
        character_coverage: float = 0,
        lossless: bool = False,
        max_sentences: int = 1_000_000,
        seed: int = 1,
    ) -> Tokenizer:
        """A vocabulary of at most vocabulary_size tokens. lossless: no normalization, and byte fallback for
        characters that are not in the vocabulary. If there are more than max_sentences, a random sample is used."""
        lines = [sentences] if isinstance(sentences, str) else list(sentences)
        options = type, vocabulary_size, character_coverage, lossless, max_sentences, seed
        return Tokenizer(_core.Tokenizer.train(lines, *options))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Tokenizer:
        return Tokenizer(_core.Tokenizer.load(path))

    @staticmethod
    def from_pretrained(folder: str | os.PathLike[str], side: Literal["source", "target"] = "source") -> Tokenizer:
        """The tokenizer in the folder of a model; `side` chooses one if there is one for each language."""
        if side not in ("source", "target"):
            raise ValueError(f'Tokenizer: side must be "source" or "target", got {side!r}')
        return Tokenizer(_core.Tokenizer.from_pretrained(folder, side == "target"))

    @property
    def special_tokens(self) -> dict[str, int]:
        """Ids by name, of pad, bos, eos, unk and mask, without missing ones; a decoder begins with bos."""
        return self._tokenizer.special_tokens()

    def save(self, path: str | os.PathLike[str]) -> None:
        self._tokenizer.save(path)

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the tokens; special tokens other than unk are left out."""
        return self._tokenizer.decode([int(n) for n in ids])

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text; U+2581 stands for a space."""
        return [self._tokenizer.token(n) for n in self._tokenizer.encode(text)]

    def token(self, id: int) -> str:
        return self._tokenizer.token(id)

    def __len__(self) -> int:
        return self._tokenizer.size()

    def __reduce__(self) -> tuple[object, ...]:
        return _from_serialized, (self._tokenizer.serialized(),)

    def __repr__(self) -> str:
        return f"<qkv.Tokenizer of {len(self)} tokens>"


def _from_serialized(data: bytes) -> Tokenizer:
    return Tokenizer(_core.Tokenizer.from_serialized(data))
