"""Translation with a model made by `qkv train` or qkv.train(), or a published one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _core, _options
from ._described import add_options
from ._inspection import Ablation, Inspection, ablation_of, inspection_of, list_of
from ._model_folder import CacheFormat, model_folder
from ._options import Precision, WeightFormat
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


class TranslateOptions(_options.TranslateOptions, total=False):
    """Options of Translator.translate(), for type checkers."""

    prefixes: str | Iterable[str] | None
    terms: Mapping[str, str] | None


class Translator:
    """A trained model with its vocabularies, from its folder. Several threads may use it at once."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
        cache: CacheFormat = "f32",
        shortlist: str | os.PathLike[str] | None = None,
    ) -> None:
        """weights: the numbers they are held as, None: as they are stored. "bf16" takes half of the memory
        of "f32", "int8" a quarter, "q4_k" a seventh.
        map: use them in place in the mapped file: processes share them, and it is ready sooner; tokens take longer.
        The file must not be written in place or truncated meanwhile; replacing it by renaming is safe.
        precision: numbers that products are computed from; "bf16" rounds weights and what they are multiplied by,
        which is faster on processors with AVX512_BF16 or AMX.
        cache: the numbers that keys and values of earlier tokens are held as.
        shortlist: a file of `qkv shortlist`: translations consist of its candidates for each sentence, which is
        faster."""
        self.model = model_folder(model)
        self._translator = _core.Translator(self.model, weights, map, precision, cache, shortlist)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
        cache: CacheFormat = "f32",
        shortlist: str | os.PathLike[str] | None = None,
    ) -> Translator:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights, map=map, precision=precision, cache=cache, shortlist=shortlist)

    @overload
    def translate(self, sentences: str, **options: Unpack[TranslateOptions]) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, sentences: Iterable[str], **options: Unpack[TranslateOptions]) -> list[Translation]: ...

    def translate(
        self,
        sentences: str | Iterable[str],
        *,
        prefixes: str | Iterable[str] | None = None,
        terms: Mapping[str, str] | None = None,
        **options: Unpack[_options.TranslateOptions],
    ) -> Translation | list[Translation]:
        """A translation for each sentence, in order; one for a single text.

        A translation does not depend on the others, nor on the number of threads (qkv.set_threads). Ctrl-C ends it
        after the current batch. The options are the same as for `qkv translate`; the generation_config.json of a
        published model replaces their defaults. And `prefixes` are the whole words that each translation begins
        with; the score leaves them out. `terms` are words or phrases of the source with their translations: where a
        sentence has one, its translation has the translation of the term.
        """
        lines = [sentences] if isinstance(sentences, str) else list(sentences)
        given = [prefixes] if isinstance(prefixes, str) else list(prefixes or [])
        if given and len(given) != len(lines):
            raise ValueError(f"translate: there are {len(lines)} sentences and {len(given)} prefixes")
        pairs = list((terms or {}).items())

        def alignments(index: int, answers: list[Any]) -> _Alignments:
            def find() -> list[np.ndarray | None]:
                one = lines[index : index + 1], given[index : index + 1], pairs
                return [a[-1] for a in self._translator.translate(*one, {**options, "alignment": True})[0][0]]

            return _Alignments([a[-1] for a in answers] if options.get("alignment") else None, find)

        out = []
        for i, (answers, source_tokens, truncated) in enumerate(
            self._translator.translate(lines, given, pairs, dict(options))
        ):
            source, where = lines[i], alignments(i, answers)
            ranked = [_candidate(a, index, where) for index, a in enumerate(answers)]
            best = {f.name: getattr(ranked[0], f.name) for f in fields(Candidate)}
            out.append(
                Translation(**best, source=source, source_tokens=source_tokens, truncated=truncated, n_best=ranked)
            )
        return out[0] if isinstance(sentences, str) else out

    def score(
        self, sources: Iterable[str], targets: Iterable[str], **options: Unpack[_options.ScorePairsOptions]
    ) -> list[PairScore]:
        """Log-probabilities of given translations: log p(target given source) of each sentence pair."""
        return [PairScore(*s) for s in self._translator.score(list(sources), list(targets), dict(options))]

    def inspect(
        self,
        sentence: str,
        target: str | None = None,
        *,
        beam: int | None = None,
        ablate: str | Iterable[str] = (),
    ) -> Inspection:
        """The attention weights of every layer and head: for a given target, or for the model's translation, found
        as translate() finds it. ablate: heads whose outputs are zero meanwhile, named as for ablate()."""
        return inspection_of(sentence, self._translator.inspect(sentence, target, list_of(ablate), {"beam": beam}))

    def ablate(
        self, heads: str | Iterable[str], sources: Iterable[str], references: Iterable[str], *, bleu: bool = True
    ) -> Ablation:
        """The loss and BLEU on a test set without some heads, whose outputs are replaced by zero.

        heads: "decoder.3.cross.5", "decoder.3.cross" for all heads of a layer, several joined by commas for all of
        them together; "all" for every head, "layers" for every layer in turn; or a list of these, in their order.
        Layers and heads are counted from 0; stacks and attentions are encoder.self, decoder.self and decoder.cross.
        bleu=False: do not translate, which takes most of the time.
        """
        return ablation_of(self._translator.ablate(list_of(heads), list(sources), list(references), bleu))

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


_tables = _core.decoding_options()
add_options(Translator.translate, _tables["TranslateOptions"])
add_options(Translator.score, _tables["ScorePairsOptions"])
