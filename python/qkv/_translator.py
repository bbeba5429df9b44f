"""Translation with a model made by `qkv train` or qkv.train(), or a published one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

import numpy as np

from . import _core
from ._inspection import Inspection, inspection_of
from ._model_folder import model_folder
from ._picture import Picture, heatmap

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Alignments:
    """Alignments of the answers to one sentence, recomputed with the same bits on first access if not requested."""

    __slots__ = ("_find", "_found")

    def __init__(
        self, found: list[np.ndarray | None] | None, find: Callable[[], list[np.ndarray | None]] | None = None
    ) -> None:
        self._found, self._find = found, find

    def of(self, index: int) -> np.ndarray | None:
        if self._found is None and self._find is not None:
            self._found = self._find()
        return None if self._found is None else self._found[index]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Alignments, (self._found,)  # the translator stays in its process


@dataclass(frozen=True, repr=False)
class Candidate:
    """One translation of a sentence; str() is its text."""

    text: str
    score: float  # log_probability divided by the length penalty; answers are ranked by it
    log_probability: float
    tokens: list[str]  # of the vocabulary; U+2581 stands for a space
    _index: int = field(compare=False)
    _alignments: _Alignments = field(compare=False)

    @property
    def alignment(self) -> np.ndarray | None:
        """Cross-attention weights (tokens, source tokens), the mean over the heads of the last layer.

        Rows sum to 1, except where the attention has a sink, a Gaussian window (local-p), or masks all keys. None
        of a blank sentence.
        """
        return self._alignments.of(self._index)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r}, score={self.score:.4f})"


@dataclass(frozen=True, repr=False)
class Translation(Candidate):
    """The best translation of a sentence, and the n best."""

    source: str
    source_tokens: list[str]  # the end of the sentence last
    truncated: bool  # the source was too long for the model and has been cut
    n_best: list[Candidate]  # best first, the best included

    def heatmap(self, *, title: str | None = None) -> Picture:
        """The alignment: translation tokens as rows, source tokens as columns.

        qkv.Translator.inspect() has every layer and head.
        """
        if not self.tokens:
            raise ValueError("a translation without tokens has no picture")
        if self.alignment is None:
            raise ValueError(
                "this translation comes from another process, without its alignment: translate with alignment=True"
            )
        return heatmap(
            self.alignment,
            self.tokens,
            self.source_tokens,
            caption="rows: translation, columns: source",
            title=f"{self.source} \N{RIGHTWARDS ARROW} {self.text}" if title is None else title,
        )


@dataclass(frozen=True, repr=False)
class PairScore:
    """Log-probability of a given translation."""

    log_probability: float
    token_log_probabilities: list[float]
    tokens: list[str]  # the end of the sentence last
    truncated: bool

    def __repr__(self) -> str:
        return f"PairScore(log_probability={self.log_probability:.4f}, {len(self.tokens)} tokens)"


class TranslateOptions(TypedDict, total=False):
    """Options of Translator.translate(), for type checkers."""

    beam: int
    length_penalty: float
    length_normalization: Literal["wu", "power"]
    n_best: int
    max_length: int
    min_length: int
    no_repeat_ngram: int
    batch_tokens: int
    max_input_tokens: int
    alignment: bool
    alternatives: bool
    prefixes: str | Iterable[str] | None
    source_language: str
    target_language: str


class Translator:
    """A trained model with its vocabularies, from its folder. Several threads may use it at once."""

    def __init__(self, model: str | os.PathLike[str], *, weights: Literal["f32", "bf16"] | None = None) -> None:
        """weights: the numbers they are held as, None: as they are stored. "bf16" takes half of the memory."""
        self.model = model_folder(model)
        self._translator = _core.Translator(self.model, weights)
        self._defaults = _core.translate_defaults(self.model)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, weights: Literal["f32", "bf16"] | None = None
    ) -> Translator:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights)

    @overload
    def translate(self, sentences: str, **options: Unpack[TranslateOptions]) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, sentences: Iterable[str], **options: Unpack[TranslateOptions]) -> list[Translation]: ...

    def translate(
        self,
        sentences: str | Iterable[str],
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        length_normalization: Literal["wu", "power"] | None = None,
        n_best: int = 1,
        max_length: int | None = None,
        min_length: int | None = None,
        no_repeat_ngram: int | None = None,
        batch_tokens: int = 4096,
        max_input_tokens: int = 0,
        alignment: bool = False,
        alternatives: bool = False,
        prefixes: str | Iterable[str] | None = None,
        source_language: str = "",
        target_language: str = "",
    ) -> Translation | list[Translation]:
        """A translation for each sentence, in order; one for a single text. The options are the same as for
        `qkv translate`; the generation_config.json of a published model replaces their defaults:

        beam                  hypotheses of beam search, 4; 1: greedy search
        length_penalty        exponent alpha of the length penalty, 1; 0: none
        length_normalization  the length penalty: "wu", ((5 + length) / 6)^alpha, or "power", length^alpha
        n_best                answers for each sentence, at most `beam`
        max_length            maximum number of tokens; 0: in proportion to the source, within the model's context
        min_length            minimum number of tokens
        no_repeat_ngram       no sequence of n tokens occurs twice; 0: no such limit
        batch_tokens          maximum number of source tokens in a batch
        max_input_tokens      longer sentences are cut; 0: the limit of the model, or 4096 if it has none
        alignment             compute alignments with the batch, not on first access
        alternatives          the n_best answers differ in their first token, or in the first one after the prefix
        prefixes              the whole words that each translation begins with; the score leaves them out
        source_language       language of the input, for a multilingual model: the name of its token, "eng_Latn"
        target_language       the same for the translations

        A translation does not depend on the others, nor on the number of threads (qkv.set_threads). Ctrl-C ends it
        after the current batch.
        """
        lines = [sentences] if isinstance(sentences, str) else list(sentences)
        given = [prefixes] if isinstance(prefixes, str) else list(prefixes or [])
        if given and len(given) != len(lines):
            raise ValueError(f"translate: there are {len(lines)} sentences and {len(given)} prefixes")

        def search(lines: list[str], given: list[str], alignment: bool) -> list[Any]:
            options = self._search_options(
                beam=beam,
                length_penalty=length_penalty,
                length_normalization=length_normalization,
                n_best=n_best,
                max_length=max_length,
                min_length=min_length,
                no_repeat_ngram=no_repeat_ngram,
                batch_tokens=batch_tokens,
                max_input_tokens=max_input_tokens,
                source_language=source_language,
                target_language=target_language,
                alignment=alignment,
                alternatives=alternatives,
            )
            return self._translator.translate(lines, given, options)

        def alignments(index: int, answers: list[Any]) -> _Alignments:
            one = lines[index : index + 1], given[index : index + 1]
            found = [a[-1] for a in answers]
            return _Alignments(found if alignment else None, lambda: [a[-1] for a in search(*one, True)[0][0]])

        out = []
        for i, (answers, source_tokens, truncated) in enumerate(search(lines, given, alignment)):
            source, where = lines[i], alignments(i, answers)
            ranked = [_candidate(a, index, where) for index, a in enumerate(answers)]
            best = {f.name: getattr(ranked[0], f.name) for f in fields(Candidate)}
            out.append(
                Translation(**best, source=source, source_tokens=source_tokens, truncated=truncated, n_best=ranked)
            )
        return out[0] if isinstance(sentences, str) else out

    def _search_options(self, **given: Any) -> _core.TranslateOptions:
        """The options; None stands for the value in the generation_config.json of a published model."""
        names = ("beam", "length_penalty", "length_normalization", "max_length", "min_length", "no_repeat_ngram")
        of_model = {name: getattr(self._defaults, name) for name in (*names, "early_stopping", "eos_at_max_length")}
        return _core.TranslateOptions(**{**of_model, **{k: v for k, v in given.items() if v is not None}})

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        batch_tokens: int = 4096,
        max_input_tokens: int = 0,
    ) -> list[PairScore]:
        """Log-probabilities of given translations: log p(target given source) of each sentence pair.

        max_input_tokens  longer sentences are cut; 0: the limit of the model, or 4096 if it has none
        """
        return [
            PairScore(*s)
            for s in self._translator.score(
                list(sources), list(targets), batch_tokens=batch_tokens, max_input_tokens=max_input_tokens
            )
        ]

    def inspect(self, sentence: str, target: str | None = None, *, beam: int | None = None) -> Inspection:
        """The attention weights of every layer and head: for a given target, or for the model's translation, found
        as translate() finds it."""
        return inspection_of(sentence, self._translator.inspect(sentence, target, self._search_options(beam=beam)))

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the model, config.json."""
        return json.loads(self._translator.config())

    def describe(self) -> str:
        """The model layer by layer: parameters, arithmetic, bytes."""
        return self._translator.describe()

    def __repr__(self) -> str:
        return f"qkv.Translator({self.model!r})"


def _candidate(answer: tuple[Any, ...], index: int, alignments: _Alignments) -> Candidate:
    text, score, log_probability, tokens, _ = answer
    return Candidate(text, score, log_probability, tokens, index, alignments)
