"""BLEU, chrF and TER, equal to those of sacreBLEU.

    qkv.bleu(hypotheses, references).score          # of a corpus; references: a line for each hypothesis, or
    several lists

Lines are plain text, not tokenized. Scores are in percent. samples: the number of bootstrap resamples for
.confidence, 1000 in sacreBLEU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from . import _core

References = Sequence[str] | Sequence[Sequence[str]]
BleuTokenizer = Literal["13a", "intl", "char", "none"]


class Confidence(NamedTuple):
    """The 95% interval of a corpus score by bootstrap resampling (Koehn, 2004): mean +- half_width."""

    mean: float
    half_width: float


@dataclass(frozen=True)
class BleuScore:
    score: float
    precisions: list[float]  # by order, smoothed
    brevity_penalty: float
    hypothesis_length: int  # in words
    reference_length: int
    text: str  # the line that sacreBLEU prints
    signature: str  # what must be equal for two scores to be comparable
    confidence: Confidence | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ChrfScore:
    score: float
    text: str
    signature: str
    confidence: Confidence | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TerScore:
    score: float
    edits: int
    reference_length: float  # in words
    text: str
    signature: str
    confidence: Confidence | None = None

    def __str__(self) -> str:
        return self.text


def _streams(references: References) -> list[list[str]]:
    """Lists of references, each with a line for every hypothesis."""
    if isinstance(references, str):
        raise TypeError("references: expected a list of lines, or a list of such lists, got a str")
    given = list(references)
    if given and isinstance(given[0], str):
        return [given]  # type: ignore[list-item]
    return [list(stream) for stream in given]


def _with_confidence(fields: tuple[Any, ...]) -> list[Any]:
    return [*fields[:-1], None if fields[-1] is None else Confidence(*fields[-1])]


def bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenizer: BleuTokenizer = "13a",
    lowercase: bool = False,
    smoothing: Literal["exp", "floor", "add-k", "none"] = "exp",
    smoothing_value: float | None = None,
    max_order: int = 4,
    effective_order: bool = False,
    samples: int = 0,
    seed: int = 12345,
) -> BleuScore:
    """BLEU of a corpus (Papineni et al., 2002)."""
    options = tokenizer, lowercase, smoothing, smoothing_value, max_order, effective_order
    return BleuScore(
        *_with_confidence(_core.bleu(list(hypotheses), _streams(references), False, *options, samples, seed))
    )


def sentence_bleu(
    hypothesis: str,
    references: Sequence[str],
    *,
    tokenizer: BleuTokenizer = "13a",
    lowercase: bool = False,
    smoothing: Literal["exp", "floor", "add-k", "none"] = "exp",
    smoothing_value: float | None = None,
    max_order: int = 4,
    effective_order: bool = True,
) -> BleuScore:
    """BLEU of one sentence, with one or more references; orders that it is too short for are left out."""
    options = tokenizer, lowercase, smoothing, smoothing_value, max_order, effective_order
    return BleuScore(*_core.bleu([hypothesis], _streams(references), True, *options, 0, 0))


def chrf(
    hypotheses: Sequence[str],
    references: References,
    *,
    character_order: int = 6,
    word_order: int = 0,
    beta: float = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
    samples: int = 0,
    seed: int = 12345,
) -> ChrfScore:
    """chrF of a corpus (Popovic, 2015); with word_order=2 chrF++."""
    options = character_order, word_order, beta, lowercase, whitespace, eps_smoothing
    return ChrfScore(
        *_with_confidence(_core.chrf(list(hypotheses), _streams(references), False, *options, samples, seed))
    )


def sentence_chrf(
    hypothesis: str,
    references: Sequence[str],
    *,
    character_order: int = 6,
    word_order: int = 0,
    beta: float = 2,
    lowercase: bool = False,
    whitespace: bool = False,
    eps_smoothing: bool = False,
) -> ChrfScore:
    """chrF of one sentence, with one or more references."""
    options = character_order, word_order, beta, lowercase, whitespace, eps_smoothing
    return ChrfScore(*_core.chrf([hypothesis], _streams(references), True, *options, 0, 0))


def ter(
    hypotheses: Sequence[str],
    references: References,
    *,
    case_sensitive: bool = False,
    normalized: bool = False,
    no_punctuation: bool = False,
    samples: int = 0,
    seed: int = 12345,
) -> TerScore:
    """TER, the translation edit rate, of a corpus (Snover et al., 2006); 0 is best."""
    options = case_sensitive, normalized, no_punctuation
    return TerScore(
        *_with_confidence(_core.ter(list(hypotheses), _streams(references), False, *options, samples, seed))
    )


def sentence_ter(
    hypothesis: str,
    references: Sequence[str],
    *,
    case_sensitive: bool = False,
    normalized: bool = False,
    no_punctuation: bool = False,
) -> TerScore:
    """TER of one sentence, with one or more references."""
    options = case_sensitive, normalized, no_punctuation
    return TerScore(*_core.ter([hypothesis], _streams(references), True, *options, 0, 0))


def tokenize(line: str, tokenizer: BleuTokenizer = "13a") -> str:
    """The words of BLEU: the line with its words separated by single spaces."""
    return _core.tokenize(line, tokenizer)
