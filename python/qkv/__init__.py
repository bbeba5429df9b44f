"""Attention in all its forms, fast on CPUs.

    out = qkv.attention(q, k, v, mask=qkv.causal() & qkv.window(256), modify=[qkv.softcap(50)])

    attention(Q, K, V) = reweigh( normalize( mask( modify( score(Q, K) ) ) ) ) V

NumPy arrays, PyTorch tensors on the CPU and anything with DLPack are read without a copy; results are of the same
library and type. qkv.torch has the same calls with gradients, qkv.huggingface this attention for models of
transformers.
"""

from typing import Any as _Any

from ._argument_errors import name_arguments as _name_arguments
from ._attention import attention, attention_backward, attention_packed, explain
from ._caches import KeyValueCache, MultiTokenCache
from ._core import instruction_set, set_threads, threads, version as _version
from ._cost import AttentionComparison, AttentionCost, compare_attention, explain_model
from ._embedder import Embedder
from ._evaluation import Evaluation, LengthBucket, MetricResult, SentenceScores, SystemResult, evaluate
from ._generator import GeneratedText, GeneratedTexts, Generator, TextGeneration, TextScore
from ._inspection import AblatedHeads, Ablation, AttentionMaps, Inspection, attention_rollout, pattern_strengths
from ._layer import AttentionCache, MultiHeadAttention, describe_layer
from ._mask_filler import FilledText, MaskCandidate, MaskFiller
from ._mask_mod import mask_mod
from ._masks import (
    Mask,
    around,
    bigbird,
    bigbird_table,
    blocks,
    causal,
    dense,
    dilated,
    documents,
    every,
    first_keys,
    global_positions,
    global_tokens,
    local_m,
    longformer,
    padding,
    prefix,
    strided,
    window,
)
from ._metrics import (
    BleuScore,
    ChrfScore,
    Confidence,
    TerScore,
    bleu,
    chrf,
    sentence_bleu,
    sentence_chrf,
    sentence_ter,
    ter,
    tokenize,
)
from ._operations import (
    LocalP,
    RotaryFrequencies,
    RotaryScaling,
    alibi_slopes,
    gate_heads,
    local_p,
    masked_softmax,
    multi_token_attention,
    normalize_heads,
    relative_bucket,
    rotary,
    rotary_frequencies,
    sinusoidal,
    softmax,
)
from ._parts import (
    Modify,
    Normalize,
    Part,
    Reweigh,
    Score,
    absolute_bias,
    additive,
    alibi,
    bias,
    bilinear,
    boxcar,
    concat,
    constant,
    cosine,
    distance,
    dot,
    epanechnikov,
    falcon_alibi,
    first_block_bias,
    gaussian,
    gaussian_window,
    location,
    relative_bias,
    scaled_dot,
    softcap,
    softmax_with_sink,
    triangular,
    weight_dropout,
)
from ._picture import Picture, head_view, heatmap
from ._plot import Curves, plot
from ._score_mod import score_function, score_mod
from ._tokenizer import Tokenizer
from ._train import TrainResult, Validation, train
from ._translator import Candidate, PairScore, Translation, Translator

__version__ = _version()

__all__ = [
    "AblatedHeads",
    "Ablation",
    "AttentionCache",
    "AttentionComparison",
    "AttentionCost",
    "AttentionMaps",
    "BleuScore",
    "Candidate",
    "ChrfScore",
    "Confidence",
    "Curves",
    "Embedder",
    "Evaluation",
    "FilledText",
    "GeneratedText",
    "GeneratedTexts",
    "Generator",
    "Inspection",
    "KeyValueCache",
    "LengthBucket",
    "LocalP",
    "Mask",
    "MaskCandidate",
    "MaskFiller",
    "MetricResult",
    "Modify",
    "MultiHeadAttention",
    "MultiTokenCache",
    "Normalize",
    "PairScore",
    "Part",
    "Picture",
    "Reweigh",
    "RotaryFrequencies",
    "RotaryScaling",
    "Score",
    "SentenceScores",
    "SystemResult",
    "TerScore",
    "TextGeneration",
    "TextScore",
    "Tokenizer",
    "TrainResult",
    "Translation",
    "Translator",
    "Validation",
    "absolute_bias",
    "additive",
    "alibi",
    "alibi_slopes",
    "around",
    "attention",
    "attention_backward",
    "attention_packed",
    "attention_rollout",
    "bias",
    "bigbird",
    "bigbird_table",
    "bilinear",
    "bleu",
    "blocks",
    "boxcar",
    "causal",
    "chrf",
    "compare_attention",
    "concat",
    "constant",
    "cosine",
    "dense",
    "describe_layer",
    "dilated",
    "distance",
    "documents",
    "dot",
    "epanechnikov",
    "evaluate",
    "every",
    "explain",
    "explain_model",
    "falcon_alibi",
    "first_block_bias",
    "first_keys",
    "gate_heads",
    "gaussian",
    "gaussian_window",
    "global_positions",
    "global_tokens",
    "head_view",
    "heatmap",
    "instruction_set",
    "local_m",
    "local_p",
    "location",
    "longformer",
    "mask_mod",
    "masked_softmax",
    "multi_token_attention",
    "normalize_heads",
    "padding",
    "pattern_strengths",
    "plot",
    "prefix",
    "relative_bias",
    "relative_bucket",
    "rotary",
    "rotary_frequencies",
    "scaled_dot",
    "score_function",
    "score_mod",
    "sentence_bleu",
    "sentence_chrf",
    "sentence_ter",
    "set_threads",
    "sinusoidal",
    "softcap",
    "softmax",
    "softmax_with_sink",
    "strided",
    "ter",
    "threads",
    "tokenize",
    "train",
    "triangular",
    "weight_dropout",
    "window",
]

_name_arguments(globals(), __all__)

_submodules = ("huggingface", "torch")


def __getattr__(name: str) -> _Any:
    """Imports qkv.torch and qkv.huggingface when they are first used: they import PyTorch."""
    if name in _submodules:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    from ._foreign_names import foreign_attribute

    ours = foreign_attribute(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f"; it has {ours}" if ours else ""))


def __dir__() -> list[str]:
    return sorted({*globals(), *_submodules})
