"""Text generation with a causal language model, and its perplexity."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from ._described import add_options
from ._inspection import Ablation, AttentionMaps, Inspection, ablation_of, inspection_of, list_of
from ._model_folder import CacheFormat, model_folder
from ._options import GenerateTextOptions, Precision, ScoreTextOptions, WeightFormat

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
    proposed: int  # tokens that lookup or a draft model proposed
    accepted: int  # of these, those that are in the answer

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


def _conversation(
    messages: Iterable[Mapping[str, Any]],
    tools: Iterable[Any] | None,
    documents: Iterable[Any] | None,
    variables: Mapping[str, Any] | None,
    chat_template: str | None,
    add_generation_prompt: bool,
    trust_messages: bool,
) -> str:
    if isinstance(messages, (str, Mapping)):
        raise TypeError(f"chat: messages must be a list of dicts, got {type(messages).__name__}")
    try:
        return json.dumps(
            {
                "messages": list(messages),
                "tools": None if tools is None else list(tools),
                "documents": None if documents is None else list(documents),
                "variables": variables,
                "chat_template": chat_template,
                "add_generation_prompt": bool(add_generation_prompt),
                "trust_messages": bool(trust_messages),
            },
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise type(error)(f"chat: the conversation is not JSON: {error}") from None


class Generator:
    """A causal language model with its vocabulary, from its folder. Several threads may use it at once.

    generator = qkv.Generator("stories")
    print("Once upon a time" + str(generator.generate("Once upon a time", temperature=0.8)))
    for piece in generator.stream("Once upon a time"):
        print(piece, end="", flush=True)
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
        cache: CacheFormat = "f32",
        draft: str | os.PathLike[str] | Generator | None = None,
    ) -> None:
        """weights: the numbers they are held as, None: as they are stored. "bf16" takes half of the memory
        of "f32", "int8" a quarter, "q4_k" a seventh.
        map: use them in place in the mapped file: processes share them, it is ready sooner, and tokens take longer.
        The file must not be written in place or truncated meanwhile; replacing it by renaming is safe.
        precision: numbers that products are computed from; "bf16" rounds weights and what they are multiplied by,
        which is faster on processors with AVX512_BF16 or AMX.
        cache: the numbers that keys and values of earlier tokens are held as.
        draft: a smaller model with the same vocabulary, which proposes `draft_tokens` at a step; this one reads
        them together. The answers are the same, and come sooner where both agree."""
        self.model = model_folder(model)
        self._generator = _core.Generator(self.model, weights, map, precision, cache)
        if draft is not None:
            small = (
                draft
                if isinstance(draft, Generator)
                else Generator(draft, weights=weights, map=map, precision=precision, cache=cache)
            )
            self._generator.set_draft(small._generator)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        *,
        weights: WeightFormat | None = None,
        map: bool = False,
        precision: Precision = "f32",
        cache: CacheFormat = "f32",
        draft: str | os.PathLike[str] | Generator | None = None,
    ) -> Generator:
        """A published model, from its folder as save_pretrained() of Hugging Face transformers writes it."""
        return cls(folder, weights=weights, map=map, precision=precision, cache=cache, draft=draft)

    @overload
    def generate(self, prompts: str, **options: Unpack[GenerateTextOptions]) -> GeneratedTexts: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, prompts: Iterable[str], **options: Unpack[GenerateTextOptions]) -> list[GeneratedTexts]: ...

    def generate(
        self, prompts: str | Iterable[str], **options: Unpack[GenerateTextOptions]
    ) -> GeneratedTexts | list[GeneratedTexts]:
        """Continues each prompt, in order; a single result for a single prompt.

        An answer depends on the seed and on the number of its prompt, not on the other prompts, nor on the number
        of threads (qkv.set_threads). Ctrl-C ends it after the current batch. The options are the same as for
        `qkv generate`; the generation_config.json of a published model replaces their defaults.
        """
        texts = [prompts] if isinstance(prompts, str) else list(prompts)
        out = []
        for prompt, (answers, truncated) in zip(texts, self._generator.generate(texts, dict(options))):
            found = [GeneratedText(*answer) for answer in answers]
            best = {f.name: getattr(found[0], f.name) for f in fields(GeneratedText)}
            out.append(GeneratedTexts(**best, prompt=prompt, truncated=truncated, answers=found))
        return out[0] if isinstance(prompts, str) else out

    def stream(self, prompt: str, **options: Unpack[GenerateTextOptions]) -> TextGeneration:
        """The answer that generate() gives, as an iterator over its pieces. Beam search is not available."""
        return TextGeneration(self._generator.stream(prompt, dict(options)))

    def chat(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
        trust_messages: bool = False,
        **options: Unpack[GenerateTextOptions],
    ) -> GeneratedText:
        """The answer to a conversation: messages are dicts with "role" and "content".

        generator.chat([{"role": "user", "content": "Why is the sky blue?"}], temperature=0)

        The prompt is what the model's chat template makes of them, as apply_chat_template() of Hugging Face
        transformers, with tools, documents and `variables` (such as {"enable_thinking": False}). Special tokens in
        messages stay text, unless `trust_messages`. Options as for generate(); an answer is not searched for. The
        generator keeps the keys and values of the last conversation, up to 8,192 tokens of it: what the next one
        begins with is not read again.
        """
        request = _conversation(
            messages, tools, documents, variables, chat_template, add_generation_prompt, trust_messages
        )
        return GeneratedText(*self._generator.chat(request, dict(options)))

    def stream_chat(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
        trust_messages: bool = False,
        **options: Unpack[GenerateTextOptions],
    ) -> TextGeneration:
        """The answer that chat() gives, as an iterator over its pieces."""
        request = _conversation(
            messages, tools, documents, variables, chat_template, add_generation_prompt, trust_messages
        )
        return TextGeneration(self._generator.stream_chat(request, dict(options)))

    def score(self, texts: Iterable[str], **options: Unpack[ScoreTextOptions]) -> list[TextScore]:
        """Log-probabilities of texts, their ends included.

        A text of more than `context` tokens is read in windows of that many, each `stride` tokens after the
        previous one; the first window that has a token scores it.
        """
        lines = [texts] if isinstance(texts, str) else list(texts)
        return [TextScore(*s) for s in self._generator.score(lines, dict(options))]

    def perplexity(self, texts: Iterable[str], **options: Unpack[ScoreTextOptions]) -> float:
        """Perplexity of all texts together: exp of the mean negative log-probability of a token, see score()."""
        scores = self.score(texts, **options)
        tokens = sum(len(s.tokens) for s in scores)
        return math.exp(-sum(s.log_probability for s in scores) / tokens) if tokens else 1.0

    def inspect(self, text: str, *, ablate: str | Iterable[str] = ()) -> Inspection:
        """The attention weights of every layer and head for a text, which is read as it is.

        Row t has the weights with which token t was predicted, columns are the tokens that were read before it.
        ablate: heads whose outputs are zero meanwhile, named as for ablate().
        """
        return inspection_of(text, self._generator.inspect(text, list_of(ablate)))

    def repeated_tokens(self, *, length: int = 0, seed: int = 1) -> AttentionMaps:
        """The attention to random tokens that are read twice, where induction heads find what follows; length: of a
        copy, 0: 50, or as many as the model has positions for."""
        return AttentionMaps(*self._generator.repeated_tokens(length, seed))

    def ablate(self, heads: str | Iterable[str], texts: Iterable[str]) -> Ablation:
        """The loss on texts without some heads, whose outputs are replaced by zero.

        heads: "decoder.3.self.5", "decoder.3.self" for all heads of a layer, several joined by commas for all of
        them together; "all" for every head, "layers" for every layer in turn; or a list of these, in turn.
        """
        return ablation_of(self._generator.ablate(list_of(heads), list_of(texts)))

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the model, config.json."""
        return json.loads(self._generator.config())

    def describe(self) -> str:
        """The model layer by layer: parameters, arithmetic, bytes."""
        return self._generator.describe()

    def __repr__(self) -> str:
        return f"qkv.Generator({self.model!r})"


_tables = _core.decoding_options()
add_options(Generator.generate, _tables["GenerateTextOptions"])
add_options(Generator.stream, _tables["GenerateTextOptions"])
add_options(Generator.chat, _tables["GenerateTextOptions"])
add_options(Generator.stream_chat, _tables["GenerateTextOptions"])
add_options(Generator.score, _tables["ScoreTextOptions"])
add_options(Generator.perplexity, _tables["ScoreTextOptions"])
