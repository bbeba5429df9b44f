"""Translation systems compared: BLEU, chrF, TER and exact matches, paired tests, scores by length and by sentence.

    evaluation = qkv.evaluate({"base": base, "big": big}, references, sources=sources, paired="bs")
    print(evaluation)                                       # the table of `qkv evaluate`
    evaluation.results[1].bleu.p_value                      # of big, against base
    evaluation.save("judged.html")                          # every sentence, the worst first

A system is a list of translations, or a qkv.Translator, which translates the sources.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from . import _core
from ._metrics import BleuTokenizer, Confidence, References, _streams
from ._translator import Translator

Lines = Sequence[Any]  # of str, or of translations, whose str() is their text


@dataclass(frozen=True)
class MetricResult:
    name: str  # "BLEU", "chrF2", "TER"
    signature: str  # what must be equal for two scores to be comparable
    details: str  # of BLEU: its precisions and lengths
    score: float
    confidence: Confidence | None
    p_value: float | None  # against the first system


@dataclass(frozen=True)
class SystemResult:
    """The scores of a system."""

    name: str
    metrics: list[MetricResult]  # BLEU, chrF, TER
    exact_matches: int
    sentences: int

    @property
    def bleu(self) -> MetricResult:
        return self.metrics[0]

    @property
    def chrf(self) -> MetricResult:
        return self.metrics[1]

    @property
    def ter(self) -> MetricResult:
        return self.metrics[2]


@dataclass(frozen=True)
class LengthBucket:
    """The scores of all systems on sentences of `first` to `below` - 1 words; below 0: no limit."""

    label: str  # "10-19"
    first: int
    below: int
    results: list[SystemResult]


class SentenceScores(NamedTuple):
    bleu: float
    chrf: float
    ter: float


class Evaluation:
    """What qkv.evaluate() returns. str() is its table."""

    def __init__(
        self,
        systems: Mapping[str, Lines | Translator],
        references: References,
        sources: Sequence[str],
        options: Any,
    ) -> None:
        self.sources = list(sources)
        self.references = _streams(references)
        self._translators = {name: s for name, s in systems.items() if isinstance(s, Translator)}
        if self._translators and not self.sources:
            raise ValueError("evaluate: sources are needed, because a system is a Translator")
        self.systems = {name: self._lines(system) for name, system in systems.items()}
        self._evaluation = _core.Evaluation(list(self.systems.items()), self.references, *options)
        self.results: list[SystemResult] = [_result(fields) for fields in self._evaluation.results()]

    def _lines(self, system: Lines | Translator) -> list[str]:
        if isinstance(system, str):
            raise TypeError("systems: expected a list of lines for each system, got a str")
        answers: Iterable[Any] = system.translate(self.sources) if isinstance(system, Translator) else system
        return [str(line) for line in answers]

    def by_length(self) -> list[LengthBucket]:
        """By the number of words of the sources, or of the first reference where there are no sources."""
        found = self._evaluation.by_length(self._measured())
        return [
            LengthBucket(label, first, below, [_result(r) for r in results])
            for label, first, below, results in found
        ]

    def length_table(self) -> str:
        name = "source words" if self.sources else "reference words"
        return self._evaluation.length_table(self._measured(), name)

    def _measured(self) -> list[str]:
        return self.sources or self.references[0]

    def sentence_scores(self, system: str) -> list[SentenceScores]:
        """BLEU, chrF and TER of every sentence."""
        return [SentenceScores(*scores) for scores in self._evaluation.sentence_scores(self._number(system))]

    def html(self, *, title: str = "Translations", attention: str | None = None, sentences: int = 20) -> str:
        """A page of all sentences, the worst first.

        It has the cross-attention of one system, a Translator, for the sentences that it translated worst.

        attention   the name of that system, by default the first Translator
        sentences   their number; their attention takes at most 4 MB together
        """
        return self._evaluation.page(*self._page(title, attention, sentences))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Translations",
        attention: str | None = None,
        sentences: int = 20,
    ) -> None:
        """Writes html(). An existing file is replaced as a whole."""
        self._evaluation.save(os.fspath(path), *self._page(title, attention, sentences))

    def _page(self, title: str, attention: str | None, sentences: int) -> tuple[Any, ...]:
        name = attention if attention is not None else next(iter(self._translators), None)
        if name is not None and name not in self._translators:
            raise ValueError(f"attention: {name!r} is not the name of a system that is a Translator")
        if name is None or sentences == 0:
            return title, self.sources, None, 0, 0
        return title, self.sources, self._translators[name]._translator, self._number(name), sentences

    def _number(self, system: str) -> int:
        names = list(self.systems)
        if system not in names:
            raise ValueError(f"there is no system called {system!r}; there are {', '.join(names)}")
        return names.index(system)

    def __str__(self) -> str:
        return self._evaluation.table()

    def __repr__(self) -> str:
        return f"<qkv.Evaluation of {', '.join(self.systems)} on {self.results[0].sentences} sentences>"


def evaluate(
    systems: Mapping[str, Lines | Translator],
    references: References,
    *,
    sources: Sequence[str] = (),
    tokenizer: BleuTokenizer = "13a",
    lowercase: bool = False,
    word_order: int = 0,
    confidence: bool = False,
    paired: Literal["none", "bs", "ar"] = "none",
    resamples: int = 0,
    seed: int = 12345,
) -> Evaluation:
    """Compares systems, {name: translations, or a Translator}, with the first one.

    sources      a line for each sentence: for Translators, lengths and the page
    tokenizer    of BLEU
    lowercase    ignore case in BLEU and chrF; TER always does
    word_order   word n-grams in chrF; 2: chrF++
    confidence   95% intervals by bootstrap resampling
    paired       the test of differences: "bs", paired bootstrap resampling, or "ar", approximate randomization
    resamples    or trials of "ar"; 0: 1000, and 10000 trials
    seed         of the resamples

    Scores, intervals and p-values are those of sacreBLEU.
    """
    options = tokenizer, lowercase, word_order, confidence, paired, resamples, seed
    return Evaluation(systems, references, sources, options)


def _result(fields: tuple[Any, ...]) -> SystemResult:
    name, metrics, exact, sentences = fields
    found = [
        MetricResult(metric, signature, details, score, None if interval is None else Confidence(*interval), p)
        for metric, signature, details, score, interval, p in metrics
    ]
    return SystemResult(name, found, exact, sentences)
