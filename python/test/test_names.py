"""Everything public in C++ has the same name in Python."""

import pathlib
import re

import pytest

import qkv

library = pathlib.Path(__file__).parents[2] / "qkv"
pytestmark = pytest.mark.skipif(not library.exists(), reason="the sources of the library")

folders = [
    "attention",
    "attention/mask",
    "attention/modify",
    "attention/normalize",
    "attention/reweigh",
    "attention/score",
]
files = [
    "pipeline/embedder.h",
    "pipeline/generator.h",
    "pipeline/inspect.h",
    "pipeline/mask_filler.h",
    "pipeline/text_generation.h",
    "pipeline/translator.h",
    "interpret/ablation.h",
    "interpret/head_names.h",
    "interpret/head_patterns.h",
    "interpret/head_table.h",
    "interpret/repeated_tokens.h",
    "interpret/rollout.h",
    "interpret/weights_file.h",
    "layer/attention_cache.h",
    "layer/multi_head_attention.h",
    "metric/bleu.h",
    "metric/bootstrap.h",
    "metric/chrf.h",
    "metric/evaluation.h",
    "metric/evaluation_table.h",
    "metric/paired.h",
    "metric/ter.h",
    "metric/tokenize.h",
    "op/position.h",
    "op/rotary.h",
    "op/rotary_scaling.h",
    "op/softmax.h",
    "picture/evaluation_attention.h",
    "picture/evaluation_page.h",
    "picture/heatmap.h",
    "text/tokenizer.h",
    "train/trainer.h",
]
elsewhere = {  # C++ -> where Python has it
    "ablate": "Translator",  # .ablate()
    "ablation_table": "Ablation",
    "attention_forward": "attention_backward",  # which runs it, unless it is given
    "attention_plan": "explain",
    "attention_picture": "Inspection",  # .heatmap()
    "attention_with_mean_weights": "attention",  # return_weights="mean"
    "attention_with_weights": "attention",  # return_weights=True
    "attention_of_worst": "Evaluation",  # .save()
    "confidence_of": "Confidence",
    "evaluation_page": "Evaluation",  # .html()
    "head_json": "AttentionMaps",  # .pattern_strengths()
    "head_patterns": "pattern_strengths",
    "head_table": "AttentionMaps",
    "heads_named": "Translator",  # .ablate()
    "heatmaps": "heatmap",  # of a dict
    "inspect": "Translator",  # .inspect()
    "inspection_limit": "Translator",  # what .inspect() reads at most
    "repeated_tokens": "Generator",  # .repeated_tokens()
    "save_weights": "Inspection",  # .save()
    "multi_token_attention_with_weights": "multi_token_attention",  # return_weights=True
    "length_json": "Evaluation",  # .by_length()
    "length_table": "Evaluation",
    "metric_json": "MetricResult",
    "metric_line": "MetricResult",
    "paired_bootstrap": "evaluate",  # paired="bs"
    "paired_randomization": "evaluate",  # paired="ar"
    "resampled_scores": "evaluate",
    "results_json": "Evaluation",  # .results
    "results_table": "Evaluation",  # str()
    "signature": "BleuScore",  # .signature
    "tile_mask_mod": "mask_mod",
    "SentencePage": "Evaluation",  # .html()
    "SystemOutput": "evaluate",  # a dict
    "AttentionGroup": "Inspection",  # .heatmap()
    "AttentionPlan": "explain",
    "HeadPattern": "pattern_strengths",
    "HeadPatterns": "pattern_strengths",
    "NamedHeads": "Translator",
    "Candidate": "explain",
    "bleu_of": "bleu",  # samples=, for .confidence
    "bleu_statistics": "bleu",
    "bootstrap": "Confidence",
    "chrf_of": "chrf",
    "chrf_statistics": "chrf",
    "ter_of": "ter",
    "ter_statistics": "ter",
    "Embeddings": "Embedder",
    "MaskedTextScore": "MaskFiller",  # .ablate()
    "Trainer": "train",
    "TrainerStart": "train",
    "AttentionResult": "attention",
    "MultiTokenResult": "multi_token_attention",
    "SpecialTokens": "Tokenizer",  # .special_tokens
}
not_for_users = set(  # for mechanisms written in C++, or options structs that are keyword arguments in Python
    """
    attention_heads is_weights_file name_of
    AttentionCall AttentionForward AttentionGradients AttentionShape AttentionVariableResult AttentionVariables
    BigBird BlockMap BlockOperand DistanceBias DotProductScore Dual EncodedPrompt KeyOperand KeyRange MappedMask
    Mask MaskAxes MaskPtr Modifier Normalizer QueryBlock RelativeBuckets Reweigher Score ScoreGradients
    ScoreOperands Tile TileDistances WeightDropout WeightOperand add_by_distance add_rows_product
    check_options columns_product distance_bias first_queries gather_rows history_of map_rows
    multiply_rows rows_product rotary_scaling_error sum_by_distance PredictedWindow ProjectionBias
    TextFrame
    """.split()
) | set(  # attention across processes: of PyTorch's tensors, in qkv.torch
    """
    DistributedPlan DistributedSequence SequenceBlock SequenceLayout contiguous_layout distributed_attention
    distributed_multi_token_attention distributed_plan merge zigzag_layout
    """.split()
)


def headers():
    for folder in folders:
        yield from (p for p in sorted((library / folder).glob("*.h")) if not p.name.endswith("_test.h"))
    yield from (library / name for name in files)


def names_of(text):
    """Functions and classes of namespace qkv, without those of namespaces inside."""
    text = re.sub(r"namespace (internal|kernel|metric|test)\b.*?\n}  // namespace", "", text, flags=re.S)
    functions = set(
        re.findall(
            r"^(?!return|namespace|using|requires|template|inline|constexpr)[A-Za-z_][\w:<>, ]*[ *&](\w+)\(",
            text,
            re.M,
        )
    )
    classes = set(re.findall(r"^(?:class|struct) (\w+)[^;\n]*{", text, re.M))
    return {n for n in functions | classes if not n.endswith("Options") and n != "operator"}


def test_every_name_of_the_library_is_in_the_package():
    public = {name for path in headers() for name in names_of(path.read_text())}
    assert len(public) > 60
    missing = {
        name
        for name in public - not_for_users
        if name not in qkv.__all__ and elsewhere.get(name) not in qkv.__all__
    }
    assert missing == set()


def test_the_tables_of_this_test_name_what_there_is():
    public = {name for path in headers() for name in names_of(path.read_text())}
    assert all(name in qkv.__all__ for name in elsewhere.values())
    assert {name for name in elsewhere if name not in public} == set()
