"""Text generation with a causal language model, and its perplexity."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from . import _core
from ._inspection import Inspection, inspection_of
from ._model_folder import model_folder

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

End = Literal["eos", "max-tokens", "position-limit", "stop"]


@dataclass(frozen=True, repr=False)
class GeneratedText:
    """A continuation of a prompt; str() is its text."""

    text: str  # prompt + text is the whole text
    tokens: list[str]  # of the vocabulary; U+2581 stands for a space
    log_probability: float  # of the tokens, and of the end if the model ended the text
    score: float  # log_probability; of beam search, divided by the length penalty
    end: End  # why the text ended

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r}, score={self.score:.4f}, end={self.end!r})"


@dataclass(frozen=True, repr=False)
class GeneratedTexts(GeneratedText):
    """The first answer to a prompt, and all of them."""

    prompt: str
    truncated: bool  # the prompt was too long for the model; only its end was continued
    answers: list[GeneratedText]  # the first one included; of beam search best first


@dataclass(frozen=True, repr=False)
class TextScore:
    """Log-probability of a text. A blank one has no tokens."""

    log_probability: float
    token_log_probabilities: list[float]
    tokens: list[str]  # the end of the text last

    @property
    def perplexity(self) -> float:
        """exp(-log_probability / number of tokens)"""
        return math.exp(-self.log_probability / len(self.tokens)) if self.tokens else 1.0

    def __repr__(self) -> str:
        return f"TextScore(log_probability={self.log_probability:.4f}, {len(self.tokens)} tokens)"


class TextGeneration:
    """A text that grows: an iterator over its pieces, made by Generator.stream()."""

    __slots__ = ("_generation",)

    def __init__(self, generation: _core.TextGeneration) -> None:
        self._generation = generation

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        piece: Any = self._generation.next()
        if piece is None:
            raise StopIteration
        return piece

    @property
    def truncated(self) -> bool:
        """Whether the prompt was too long and was cut."""
        return self._generation.truncated()

    @property
    def result(self) -> GeneratedText:
        """The text so far; at the end all of it."""
        return GeneratedText(*self._generation.result())


class GenerateTextOptions(TypedDict, total=False):
    """Options of Generator.generate() and stream(), for type checkers."""

    max_tokens: int
    min_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    no_repeat_ngram: int
    stop: str | Iterable[str]
    seed: int
    answers: int
    beam: int
    length_penalty: float
    length_normalization: Literal["wu", "power"]
    parse_special: bool
    first_prompt: int
    batch_tokens: int
    max_input_tokens: int


class Generator:
    """A causal language model with its vocabulary, from its folder. Several threads may use it at once.

    generator = qkv.Generator("stories")
    print("Once upon a time" + str(generator.generate("Once upon a time", temperature=0.8)))
    for piece in generator.stream("Once upon a time"):
        print(piece, end="", flush=True)
    """

    def __init__(self, model: str | os.PathLike[str], *, weights: Literal["f32", "bf16"] | None = None) -> None:
        """weights: the numbers they are held as, None: as they are stored. "bf16" takes half of the memory."""
        self.model = model_folder(model)
        self._generator = _core.Generator(self.model, weights)
        self._defaults = _core.generate_defaults(self.model)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, weights: Literal["f32", "bf16"] | None = None
    ) -> Generator:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights)

    @overload
    def generate(self, prompts: str, **options: Unpack[GenerateTextOptions]) -> GeneratedTexts: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, prompts: Iterable[str], **options: Unpack[GenerateTextOptions]) -> list[GeneratedTexts]: ...

    def generate(
        self, prompts: str | Iterable[str], **options: Unpack[GenerateTextOptions]
    ) -> GeneratedTexts | list[GeneratedTexts]:
        """Continues each prompt, in order; a single result for a single prompt. The options are the same as for
        `qkv generate`; the generation_config.json of a published model replaces their defaults:

        max_tokens            maximum number of tokens of an answer, 256
        min_tokens            minimum number of tokens of an answer, 0
        temperature           divides the logits before a token is drawn, 1; 0: always the most likely token
        top_k                 draw from the k most likely tokens; 0: from all
        top_p                 nucleus sampling: draw from the smallest set of tokens whose probabilities sum to p;
                              1: from all
        min_p                 draw from tokens with at least this fraction of the highest probability; 0: from all
        repetition_penalty    makes tokens that occurred before less likely; 1: none
        no_repeat_ngram       no sequence of n tokens occurs twice; 0: no such limit
        stop                  a text, or several, that end an answer and are not part of it
        seed                  seed of the random numbers, 1
        answers               number of answers to each prompt, 1; at most `beam` if that is not 1
        beam                  beam size, to search for the most likely text; 1: draw tokens
        length_penalty        exponent alpha of the length penalty of beam search; 0: none
        length_normalization  the length penalty: "wu", ((5 + length) / 6)^alpha, or "power", length^alpha
        parse_special         read special tokens in a prompt, such as <|im_start|>, as these tokens, not as text
        first_prompt          number of the first prompt, for the random numbers, if these prompts are part of more
        batch_tokens          maximum number of tokens in a batch, 8192
        max_input_tokens      of longer prompts only the end is read; 0: the limit of the model, or 4096 tokens if
                              it has none

        An answer depends on the seed and on the number of its prompt, not on the other prompts, nor on the number
        of threads (qkv.set_threads). Ctrl-C ends it after the current batch.
        """
        texts = [prompts] if isinstance(prompts, str) else list(prompts)
        out = []
        for prompt, (answers, truncated) in zip(
            texts, self._generator.generate(texts, _options(options, self._defaults))
        ):
            found = [GeneratedText(*answer) for answer in answers]
            best = {f.name: getattr(found[0], f.name) for f in fields(GeneratedText)}
            out.append(GeneratedTexts(**best, prompt=prompt, truncated=truncated, answers=found))
        return out[0] if isinstance(prompts, str) else out

    def stream(self, prompt: str, **options: Unpack[GenerateTextOptions]) -> TextGeneration:
        """The answer that generate() gives, as an iterator over its pieces. Beam search is not available."""
        return TextGeneration(self._generator.stream(prompt, _options(options, self._defaults)))

    def score(
        self,
        texts: Iterable[str],
        *,
        context: int = 0,
        stride: int = 0,
        batch_tokens: int = 4096,
        parse_special: bool = False,
    ) -> list[TextScore]:
        """Log-probabilities of texts, their ends included.

        A text of more than `context` tokens (0: the limit of the model) is read in windows of that many, each
        `stride` tokens after the previous one (0: half of the context); the first window that has a token scores
        it. With parse_special, special tokens in a text, such as <|im_start|>, are read as these tokens.
        """
        lines = [texts] if isinstance(texts, str) else list(texts)
        return [TextScore(*s) for s in self._generator.score(lines, context, stride, batch_tokens, parse_special)]

    def perplexity(
        self,
        texts: Iterable[str],
        *,
        context: int = 0,
        stride: int = 0,
        batch_tokens: int = 4096,
        parse_special: bool = False,
    ) -> float:
        """Perplexity of all texts together: exp of the mean negative log-probability of a token, see score()."""
        scores = self.score(
            texts, context=context, stride=stride, batch_tokens=batch_tokens, parse_special=parse_special
        )
        tokens = sum(len(s.tokens) for s in scores)
        return math.exp(-sum(s.log_probability for s in scores) / tokens) if tokens else 1.0

    def inspect(self, text: str) -> Inspection:
        """The attention weights of every layer and head for a text, which is read as it is.

        Row t has the weights with which token t was predicted, columns are the tokens that were read before it.
        """
        return inspection_of(text, self._generator.inspect(text))

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the model, config.json."""
        return json.loads(self._generator.config())

    def describe(self) -> str:
        """The model layer by layer: parameters, arithmetic, bytes."""
        return self._generator.describe()

    def __repr__(self) -> str:
        return f"qkv.Generator({self.model!r})"


_of_sampling = {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "no_repeat_ngram"}


def _options(options: GenerateTextOptions, of_model: dict[str, Any]) -> _core.GenerateTextOptions:
    given: dict[str, Any] = dict(options)
    unknown = given.keys() - GenerateTextOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"generate() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    sampling = given.keys() & {*_of_sampling, "stop"}
    if given.get("beam", 1) != 1:  # a search does not sample
        of_model = {name: value for name, value in of_model.items() if name not in _of_sampling}
    elif sampling:
        of_model = {name: value for name, value in of_model.items() if name != "beam"}
    if (
        sampling & {"top_k", "top_p", "min_p"} and of_model.get("temperature") == 0
    ):  # a limit on what is drawn asks for drawing
        of_model = {**of_model, "temperature": 1.0}
    given = {**of_model, **given}
    stop = given.get("stop", ())
    return _core.GenerateTextOptions(**{**given, "stop": [stop] if isinstance(stop, str) else list(stop)})
