"""Attention in all its forms, fast on CPUs.

    out = qkv.attention(q, k, v, mask=qkv.causal() & qkv.window(256), modify=[qkv.softcap(50)])

    attention(Q, K, V) = reweigh( normalize( mask( modify( score(Q, K) ) ) ) ) V

NumPy arrays, PyTorch tensors on the CPU and anything with DLPack go in without a copy; the same kind comes out.
qkv.torch has the same call with gradients.
"""

from ._attention import attention, attention_backward, explain
from ._core import instruction_set, set_threads, threads
from ._core import version as _version
from ._masks import (
    Mask, bigbird, blocks, causal, dense, dilated, documents, global_positions, local_m, longformer, mask_mod, padding, prefix,
    strided, window,
)
from ._parts import (
    Modify, Normalize, Part, Reweigh, Score, additive, alibi, bias, bilinear, boxcar, concat, constant, cosine, distance, dot,
    epanechnikov, gaussian, gaussian_window, location, relative_bias, softcap, softmax_with_sink, triangular,
)
from ._picture import Picture, head_view, heatmap
from ._train import TrainResult, Validation, train
from ._translator import Answer, AttentionMaps, Inspection, PairScore, Translation, Translator

__version__ = _version()

__all__ = [
    "additive", "alibi", "Answer", "attention", "attention_backward", "AttentionMaps", "bias", "bigbird", "bilinear",
    "blocks", "boxcar", "causal", "concat", "constant", "cosine", "dense", "dilated", "distance", "documents", "dot",
    "epanechnikov", "explain", "gaussian", "gaussian_window", "global_positions", "head_view", "heatmap", "Inspection",
    "instruction_set", "local_m", "location", "longformer", "Mask", "mask_mod", "Modify", "Normalize", "padding", "PairScore",
    "Part", "Picture", "prefix", "relative_bias", "Reweigh", "Score", "set_threads", "softcap", "softmax_with_sink", "strided", "threads",
    "train", "TrainResult", "Translation", "Translator", "triangular", "Validation", "window",
]
