"""The options of functions as keyword arguments, for type checkers. script/python-options makes this file from the
tables of the library: qkv/decode/option_table.h, qkv/train/option_table.h and qkv/model/architecture_table.h."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal, TypedDict

Precision = Literal["f32", "bf16"]
TrainingPrecision = Literal["f32", "bf16", "auto"]
WeightFormat = Literal[
    "f32",
    "bf16",
    "int8",
    "q8_0",
    "q4_0",
    "q4_1",
    "q5_0",
    "q5_1",
    "q2_k",
    "q3_k",
    "q4_k",
    "q5_k",
    "q6_k",
    "iq4_nl",
    "iq4_xs",
]


class TranslateOptions(TypedDict, total=False):
    """
    beam                  beam size; 1: greedy search [4]
    length_penalty        exponent alpha of the length penalty; 0: none [1.0]
    length_normalization  length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or
                          LENGTH^ALPHA [wu|power: wu]
    max_length            maximum length of a translation; 0: 3 times the source + 100, within what the model is
                          made for, or 4096 if it does not say [0]
    no_repeat_ngram       no sequence of N tokens occurs twice in a translation; 0: no such limit [0]
    min_length            minimum length of a translation [0]
    n_best                number of translations per sentence, at most beam without alternatives [1]
    alternatives          the n_best translations differ in their first token, or in the first one after the
                          prefix [False]
    alignment             compute alignments with the batch, not on first access [False]
    batch_tokens          batch size in source tokens times beam [4096]
    max_input_tokens      longer lines are cut and reported; 0: the limit of the model, or 4096 if it has none
                          [0]
    source_language       language of the input, for a multilingual model: the name of its token, such as
                          eng_Latn [TOKEN]
    target_language       language of the translations [TOKEN]
    """

    beam: int
    length_penalty: float
    length_normalization: Literal["wu", "power"]
    max_length: int
    no_repeat_ngram: int
    min_length: int
    n_best: int
    alternatives: bool
    alignment: bool
    batch_tokens: int
    max_input_tokens: int
    source_language: str
    target_language: str


class ScorePairsOptions(TypedDict, total=False):
    """
    batch_tokens      batch size in tokens [4096]
    max_input_tokens  longer lines are cut and reported; 0: the limit of the model, or 4096 if it has none [0]
    """

    batch_tokens: int
    max_input_tokens: int


class GenerateTextOptions(TypedDict, total=False):
    """
    max_tokens            maximum length of an answer [256]
    min_tokens            minimum length of an answer [0]
    temperature           divides the logits before a token is drawn; 0: always the most likely token [1.0]
    top_k                 draw from the K most likely tokens; 0: from all [0]
    top_p                 nucleus sampling: draw from the smallest set of tokens whose probabilities sum to P;
                          1: from all [1.0]
    min_p                 draw from tokens with at least P times the highest probability; 0: from all [0.0]
    repetition_penalty    makes tokens that occurred before less likely; 1: none [1.0]
    no_repeat_ngram       no sequence of N tokens occurs twice; 0: no such limit [0]
    seed                  seed of the random numbers [1]
    stop                  text that ends an answer and is not part of it; may be given several times [TEXT]
    parse_special         read special tokens of the vocabulary in a prompt, such as <|im_start|>, as these
                          tokens; default: as text [False]
    first_prompt          number of the first prompt, for the random numbers, if these prompts are part of more
                          [0]
    answers               number of answers to each prompt, at most beam if that is not 1 [1]
    beam                  beam size, to search for the most likely text; 1: draw tokens [1]
    length_penalty        exponent alpha of the length penalty of beam search; 0: none [1.0]
    length_normalization  length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or
                          LENGTH^ALPHA [wu|power: wu]
    lookup                propose up to N tokens at a step: those that followed the last ones earlier in the
                          prompt or the answer. They are read together, so that an answer that repeats much of
                          them takes fewer steps; it is the same answer. 0: none [0]
    draft_tokens          the most tokens that a draft model proposes at a step [4]
    batch_tokens          batch size in tokens times beam [8192]
    max_input_tokens      longer lines are cut and reported; 0: the limit of the model, or 4096 if it has none
                          [0]
    """

    max_tokens: int
    min_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    no_repeat_ngram: int
    seed: int
    stop: str | Iterable[str]
    parse_special: bool
    first_prompt: int
    answers: int
    beam: int
    length_penalty: float
    length_normalization: Literal["wu", "power"]
    lookup: int
    draft_tokens: int
    batch_tokens: int
    max_input_tokens: int


class ScoreTextOptions(TypedDict, total=False):
    """
    context        number of tokens read at once; longer lines are read in windows; 0: the limit of the model,
                   or 4096 if it has none [0]
    stride         distance between the windows of a long line; 0: half of context [0]
    parse_special  read special tokens of the vocabulary in a text, such as <|im_start|>, as these tokens;
                   default: as text [False]
    batch_tokens   batch size in tokens [4096]
    """

    context: int
    stride: int
    parse_special: bool
    batch_tokens: int


class EmbedOptions(TypedDict, total=False):
    """
    pooling           how the hidden states of the tokens become one vector: their mean, the first or the last
                      of them, their maximum in each column, their sum divided by the root of the length;
                      automatic: what a folder of sentence-transformers says, else last for a causal model and
                      mean for others [mean|first|last|max|mean-sqrt-length]
    normalize         divide each vector by its L2 norm: dot products are cosines [False]
    batch_tokens      batch size in tokens [4096]
    max_input_tokens  longer lines are cut and reported; 0: the limit of the model, or 4096 if it has none [0]
    """

    pooling: Literal["mean", "first", "last", "max", "mean-sqrt-length"] | None
    normalize: bool
    batch_tokens: int
    max_input_tokens: int


class FillMaskOptions(TypedDict, total=False):
    """
    marker            the text that marks a mask; each mask stands for one token [[MASK]]
    n_best            number of texts per line [1]
    top_k             number of candidates for each mask [5]
    batch_tokens      batch size in tokens [4096]
    max_input_tokens  longer lines are cut and reported; 0: the limit of the model, or 4096 if it has none [0]
    """

    marker: str
    n_best: int
    top_k: int
    batch_tokens: int
    max_input_tokens: int


class TrainOptions(TypedDict, total=False):
    """
    train                   training data: sentence pairs as TSV (source TAB target), or two files with a
                            sentence per line; for architecture causal or masked, a file of text with a document
                            per line; plain, gzip or zstd; given several times, all of it is trained on
                            [FILE[,FILE]]
    valid                   validation data, in the same formats; default: the held-out data [FILE[,FILE]]
    hold_out                number of distinct source sentences, or lines of text, kept for validation; all
                            pairs with these sources are held out of training; default: a fiftieth of them
                            without valid, else 0 [N]
    max_length              maximum length of a training sentence; longer pairs are skipped, longer lines cut;
                            causal: length of the rows that text is packed into [256]
    init                    model to continue from on other data (fine-tuning): its architecture, parameters and
                            vocabularies [FOLDER]
    vocabulary_size         maximum size of a vocabulary [TOKENS]
    tokenizer               subword model [unigram|bpe|character|byte-bpe|wordpiece: bpe]
    character_coverage      fraction of the training text whose characters are in the vocabulary; 0: as many as
                            fit [0.0]
    lossless                no normalization, and byte fallback for characters outside the vocabulary [False]
    bpe_dropout             BPE-dropout: probability that a merge is left out, drawn anew at every occurrence of
                            a sentence [0.0]
    masking_rate            fraction of the tokens of a line that a masked model has to predict [0.15]
    mask_whole_words        mask all tokens of a word together [False]
    architecture            class of the model: transformer, an encoder-decoder trained on sentence pairs;
                            causal, a language model, and masked, a model that predicts masked tokens, both
                            trained on plain text; bahdanau and luong, recurrent encoder-decoders
                            [transformer|causal|masked|bahdanau|luong: transformer]
    d_model                 width C of the model [N]
    heads                   query heads H; divides d-model unless head-width is given [N]
    kv_heads                key/value heads G (grouped-query); divides heads; 0: equal to heads [0]
    head_width              width D of a head; 0: d-model / heads [0]
    ffn                     width F of the feed-forward network [N]
    encoder_layers          number of encoder layers [N]
    decoder_layers          number of decoder layers [N]
    dropout                 dropout of embeddings and sublayers [RATE]
    attention_dropout       dropout of attention weights [0.0]
    ffn_dropout             dropout inside the feed-forward network [0.0]
    norm                    norms after (post) or before (pre) every sublayer, or both (sandwich); pre-residual:
                            before, and the residual connection begins after the norm; parallel: all sublayers
                            of a block read the same input, parallel-shared: through the same norm
                            [post|pre|pre-residual|sandwich|parallel|parallel-shared]
    norm_kind               layer norm or RMS norm [layer|rms: layer]
    norm_eps                added to the variance in a norm [1e-05]
    activation              activation of the feed-forward network [relu|gelu|gelu-tanh|silu|quick-gelu: relu]
    gated_ffn               gated feed-forward network (SwiGLU, GEGLU) [False]
    positions               position encoding [sinusoidal|learned|rotary|alibi|relative-bias|none: sinusoidal]
    tie                     embeddings that share one matrix; all: one vocabulary for both languages
                            [all|embeddings|target|none: all]
    attention_bias          biases of the attention projections [True]
    ffn_bias                biases of the feed-forward network [True]
    query_key_norm          normalize the queries and keys of every head [False]
    self_attention          attention variant of encoder and decoder self-attention, or one for each layer in
                            turn: full*1,window=64*3 [full]
    encoder_self_attention  attention variant of encoder self-attention only [full]
    decoder_self_attention  attention variant of decoder self-attention only [full]
    cross_attention         attention variant of cross-attention, or one for each layer in turn [full]
    max_positions           maximum tokens of a sequence with sinusoidal or learned positions [1024]
    batch_tokens            batch size in target tokens, padding included [TOKENS]
    batch_sentences         batch size in sentence pairs instead; 0: use batch-tokens [0]
    accumulate              gradient accumulation: batches per update [N]
    pieces                  parts that the batches of an update are divided into; as many processes as divide it
                            can share the work (mpirun -n N qkv train), with the same result for any number of
                            them: a power of two, at most accumulate [1]
    context_parallel        processes that share each row of max-length tokens of a causal model, where the
                            activations of a whole one do not fit into the memory of one process; the processes
                            of mpirun are such groups [1]
    shard_optimizer         each process keeps the optimizer's state of its part of the parameters only [False]
    communication           numbers of the gradients that processes exchange; bf16 takes half of the bytes: the
                            gradients of pieces and their sums are rounded, the same for any number of processes
                            [f32|bf16: f32]
    precision               numbers that products are computed from. bf16: weights and what they are multiplied
                            by are rounded for each product, sums, gradients and weights stay f32; faster where
                            the processor has instructions for it, AVX512_BF16 or AMX; auto: bf16 on such a
                            processor, else f32, and the same when it is resumed [f32|bf16|auto: f32]
    recompute               keep the inputs of the blocks of a Transformer alone, and compute the rest again for
                            the gradients: a fraction of the memory, for a quarter more time [False]
    weights                 numbers that the model will be run with (weights of other commands): it is trained
                            and validated as if held in them, and saved as f32; int8 and q4_0 lose less quality
                            after a short training with init
                            [f32|bf16|int8|q8_0|q4_0|q4_1|q5_0|q5_1|q2_k|q3_k|q4_k|q5_k|q6_k|iq4_nl|iq4_xs: f32]
    optimizer               optimizer [adam|adamw|muon|adafactor: adam]
    optimizer_state         numbers of the averages that adam, adamw and muon keep; bf16 is rounded at random
                            [f32|bf16: f32]
    beta1                   Adam: decay rate of the first moment [0.9]
    beta2                   Adam: decay rate of the second moment [0.98]
    eps                     Adam: epsilon added to the square root of the second moment [1e-09]
    weight_decay            weight decay of adamw, muon and adafactor [0.01]
    schedule                learning-rate schedule [noam|inverse-sqrt|cosine|linear|constant|wsd: linear]
    learning_rate           peak learning rate, or the factor of noam; 0: 1 for noam, else by d-model and
                            batch-tokens, a tenth of that with init [0.0]
    warmup                  length of the learning-rate warm-up; 0: a twelfth of the updates, at most 4000; 1:
                            none [0]
    label_smoothing         label smoothing [0.1]
    r_drop                  weight of R-Drop, which needs dropout and doubles the time; 0: none [0.0]
    clip                    gradient clipping: maximum norm; 0: none [0.0]
    seed                    random seed [1]
    threads                 number of threads; 0: one per core that this process may use, divided among the
                            processes of mpirun [0]
    max_steps               maximum number of updates; 0: no limit [UPDATES]
    max_epochs              maximum number of epochs; 0: no limit [0]
    max_time                train for this time, the learning-rate schedule reaching its end with it: 90s, 30m,
                            2h; 0: no limit. max-steps then has none by default; the first end reached counts
                            [0]
    valid_every             interval between validations; 0: only at the end [UPDATES]
    valid_sentences         number of validation sentences translated for BLEU; 0: none [500]
    samples                 validation sentences shown with each validation: source, reference and what the
                            model makes of it; 0: none [2]
    patience                early stopping: validations without improvement; 0: never [10]
    patience_on             metric for early stopping and the best model [loss|bleu: loss]
    save_every              interval between checkpoints; 0: only at the end [UPDATES]
    keep                    number of numbered checkpoints to keep [5]
    average                 number of last checkpoints averaged at the end; 0: none [0]
    report_every            interval between lines of training/log.jsonl [50]
    tensorboard             also write the curves for TensorBoard: tensorboard logdir MODEL/training [False]
    report_parameters       also log the root mean squares of every parameter, its gradient and its update
                            [False]
    profile                 time, GFLOP/s and bytes of every operation of updates 3 to 7: a table at the end,
                            and a trace in this file for ui.perfetto.dev or chrome://tracing; measures the
                            machine for two seconds [FILE]
    """

    train: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    valid: str | os.PathLike[str]
    hold_out: int
    max_length: int
    init: str | os.PathLike[str]
    vocabulary_size: int
    tokenizer: Literal["unigram", "bpe", "character", "byte-bpe", "wordpiece"]
    character_coverage: float
    lossless: bool
    bpe_dropout: float
    masking_rate: float
    mask_whole_words: bool
    architecture: Literal["transformer", "causal", "masked", "bahdanau", "luong"]
    d_model: int
    heads: int
    kv_heads: int
    head_width: int
    ffn: int
    encoder_layers: int
    decoder_layers: int
    dropout: float
    attention_dropout: float
    ffn_dropout: float
    norm: Literal["post", "pre", "pre-residual", "sandwich", "parallel", "parallel-shared"]
    norm_kind: Literal["layer", "rms"]
    norm_eps: float
    activation: Literal["relu", "gelu", "gelu-tanh", "silu", "quick-gelu"]
    gated_ffn: bool
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative-bias", "none"]
    tie: Literal["all", "embeddings", "target", "none"]
    attention_bias: bool
    ffn_bias: bool
    query_key_norm: bool
    self_attention: str
    encoder_self_attention: str
    decoder_self_attention: str
    cross_attention: str
    max_positions: int
    batch_tokens: int
    batch_sentences: int
    accumulate: int
    pieces: int
    context_parallel: int
    shard_optimizer: bool
    communication: Literal["f32", "bf16"]
    precision: TrainingPrecision
    recompute: bool
    weights: WeightFormat
    optimizer: Literal["adam", "adamw", "muon", "adafactor"]
    optimizer_state: Literal["f32", "bf16"]
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    schedule: Literal["noam", "inverse-sqrt", "cosine", "linear", "constant", "wsd"]
    learning_rate: float
    warmup: int
    label_smoothing: float
    r_drop: float
    clip: float
    seed: int
    threads: int
    max_steps: int
    max_epochs: int
    max_time: float | str
    valid_every: int
    valid_sentences: int
    samples: int
    patience: int
    patience_on: Literal["loss", "bleu"]
    save_every: int
    keep: int
    average: int
    report_every: int
    tensorboard: bool
    report_parameters: bool
    profile: str | os.PathLike[str]
