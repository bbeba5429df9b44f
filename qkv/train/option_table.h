// Every option of a training, row by row: name, unit, help, range, the field of TrainOptions, and
// whether it may have another value when the training is resumed, or is not stored with it. The flags of `qkv train`, training/options.json
// and qkv.train() of Python are made from these rows.
//
//     visit_options(options, [](const Setting& setting, auto& field, OnResume on_resume) { ... });
#pragma once

#include "qkv/base/setting.h"
#include "qkv/train/options.h"

namespace qkv {

enum class OnResume { may_change, fixed, not_stored };  // not_stored: of one run

namespace option_table {

template <class Options, class Visitor>
void visit_data(Options& o, Visitor&& visitor) {
  constexpr OnResume may_change = OnResume::may_change, fixed = OnResume::fixed;
  // Files may be moved: that they hold the same sentence pairs is checked by their fingerprint.
  visitor(
      Setting{
          "train", "FILE[,FILE]",
          "training data: sentence pairs as TSV (source TAB target), or two files with a sentence per line; for "
          "architecture causal or masked, a file of text with a document per line; plain, gzip or zstd; "
          "given several times, all of it is trained on"},
      o.train, may_change);
  visitor(Setting{"valid", "FILE[,FILE]", "validation data, in the same formats; default: the held-out data"},
          o.valid, may_change);
  visitor(
      Setting{"hold-out", "N",
              "number of distinct source sentences, or lines of text, kept for validation; all pairs with these "
              "sources are held out of training; default: a fiftieth of them without valid, else 0",
              not_negative},
      o.hold_out, fixed);
  visitor(Setting{"max-length",
                  "TOKENS",
                  "maximum length of a training sentence; longer pairs are skipped, longer lines cut; causal: "
                  "length of the rows that text is packed into",
                  {.from = 2}},
          o.max_length, fixed);
  visitor(
      Setting{"init", "FOLDER",
              "model to continue from on other data (fine-tuning): its architecture, parameters and vocabularies"},
      o.init, fixed);
  visitor(Setting{"vocabulary-size", "TOKENS", "maximum size of a vocabulary"}, o.vocabulary_size, fixed);
  visitor(Setting{"tokenizer", "", "subword model"}, o.tokenizer, fixed);
  visitor(Setting{"character-coverage", "FRACTION",
                  "fraction of the training text whose characters are in the vocabulary; 0: as many as fit"},
          o.character_coverage, fixed);
  visitor(Setting{"lossless", "true|false",
                  "no normalization, and byte fallback for characters outside the vocabulary"},
          o.lossless, fixed);
  visitor(Setting{"bpe-dropout",
                  "RATE",
                  "BPE-dropout: probability that a merge is left out, drawn anew at every occurrence of a sentence",
                  {.from = 0, .to = 1}},
          o.bpe_dropout, fixed);
  visitor(Setting{"masking-rate",
                  "FRACTION",
                  "fraction of the tokens of a line that a masked model has to predict",
                  {.above = 0, .to = 1}},
          o.masking_rate, fixed);
  visitor(Setting{"mask-whole-words", "true|false", "mask all tokens of a word together"}, o.mask_whole_words,
          fixed);
}

template <class Options, class Visitor>
void visit_update(Options& o, Visitor&& visitor) {
  constexpr OnResume may_change = OnResume::may_change, fixed = OnResume::fixed;
  visitor(Setting{"batch-tokens", "TOKENS", "batch size in target tokens, padding included", {.from = 1}},
          o.batch_tokens, fixed);
  visitor(
      Setting{"batch-sentences", "N", "batch size in sentence pairs instead; 0: use batch-tokens", not_negative},
      o.batch_sentences, fixed);
  visitor(Setting{"accumulate", "N", "gradient accumulation: batches per update", {.from = 1}}, o.accumulate,
          fixed);
  visitor(
      Setting{
          "pieces",
          "N",
          "parts that the batches of an update are divided into; as many processes as divide it can share the work "
          "(mpirun -n N qkv train), with the same result for any number of them: a power of two, at most "
          "accumulate",
          {.from = 1}},
      o.pieces, fixed);
  visitor(
      Setting{"context-parallel",
              "N",
              "processes that share each row of max-length tokens of a causal model, where the activations of a "
              "whole one do not fit into the memory of one process; the processes of mpirun are such groups",
              {.from = 1}},
      o.context_parallel, may_change);
  visitor(Setting{"shard-optimizer", "true|false",
                  "each process keeps the optimizer's state of its part of the parameters only"},
          o.shard_optimizer, OnResume::not_stored);
  visitor(
      Setting{
          "communication", "",
          "numbers of the gradients that processes exchange; bf16 takes half of the bytes: the gradients of pieces "
          "and their sums are rounded, the same for any number of processes"},
      o.communication, fixed);
  visitor(
      Setting{
          "precision", "",
          "numbers that products are computed from. bf16: weights and what they are multiplied by are rounded for "
          "each product, sums, gradients and weights stay f32; faster where the processor has instructions for it, "
          "AVX512_BF16 or AMX; auto: bf16 on such a processor, else f32, and the same when it is resumed"},
      o.precision, fixed);
  visitor(
      Setting{"recompute", "true|false",
              "keep the inputs of the blocks of a Transformer alone, and compute the rest again for the gradients: "
              "a fraction of the memory, for a quarter more time"},
      o.recompute, fixed);
  visitor(
      Setting{
          "weights", "",
          "numbers that the model will be run with (--weights of other commands): it is trained and validated "
          "as if held in them, and saved as f32; int8 and q4_0 lose less quality after a short training with init"},
      o.weights, fixed);
  visitor(Setting{"optimizer", "", "optimizer"}, o.optimizer, fixed);
  visitor(Setting{"optimizer-state", "",
                  "numbers of the averages that adam, adamw and muon keep; bf16 is rounded at random"},
          o.optimizer_state, fixed);
  visitor(Setting{"beta1", "RATE", "Adam: decay rate of the first moment", below_one}, o.beta1, fixed);
  visitor(Setting{"beta2", "RATE", "Adam: decay rate of the second moment", below_one}, o.beta2, fixed);
  visitor(Setting{"eps", "NUMBER", "Adam: epsilon added to the square root of the second moment", not_negative},
          o.eps, fixed);
  visitor(Setting{"weight-decay", "RATE", "weight decay of adamw, muon and adafactor", not_negative},
          o.weight_decay, fixed);
  visitor(Setting{"schedule", "", "learning-rate schedule"}, o.schedule, fixed);
  visitor(Setting{"learning-rate", "RATE",
                  "peak learning rate, or the factor of noam; 0: 1 for noam, else by d-model and batch-tokens, a "
                  "tenth of that with init",
                  not_negative},
          o.learning_rate, fixed);
  visitor(Setting{"warmup", "UPDATES",
                  "length of the learning-rate warm-up; 0: a twelfth of the updates, at most 4000; 1: none",
                  not_negative},
          o.warmup, fixed);
  visitor(Setting{"label-smoothing", "FRACTION", "label smoothing", below_one}, o.label_smoothing, fixed);
  visitor(Setting{"r-drop", "WEIGHT", "weight of R-Drop, which needs dropout and doubles the time; 0: none",
                  not_negative},
          o.r_drop, fixed);
  visitor(Setting{"clip", "NORM", "gradient clipping: maximum norm; 0: none", not_negative}, o.clip, fixed);
  visitor(Setting{"seed", "N", "random seed"}, o.seed, fixed);
  visitor(
      Setting{"threads", "N",
              "number of threads; 0: one per core that this process may use, divided among the processes of mpirun",
              not_negative},
      o.threads, may_change);
}

template <class Options, class Visitor>
void visit_run(Options& o, Visitor&& visitor) {
  constexpr OnResume may_change = OnResume::may_change, fixed = OnResume::fixed;
  visitor(Setting{"max-steps", "UPDATES", "maximum number of updates; 0: no limit", not_negative}, o.max_steps,
          may_change);
  visitor(Setting{"max-epochs", "EPOCHS", "maximum number of epochs; 0: no limit", not_negative}, o.max_epochs,
          may_change);
  visitor(Setting{"max-time", "TIME",
                  "train for this time, the learning-rate schedule reaching its end with it: 90s, 30m, 2h; 0: no "
                  "limit. max-steps then has none by default; the first end reached counts",
                  not_negative},
          o.max_time, may_change);
  visitor(Setting{"valid-every", "UPDATES", "interval between validations; 0: only at the end", not_negative},
          o.valid_every, may_change);
  visitor(
      Setting{"valid-sentences", "N", "number of validation sentences translated for BLEU; 0: none", not_negative},
      o.valid_sentences, may_change);
  visitor(Setting{"samples", "N",
                  "validation sentences shown with each validation: source, reference and what the model makes of "
                  "it; 0: none",
                  not_negative},
          o.samples, may_change);
  visitor(Setting{"patience", "N", "early stopping: validations without improvement; 0: never", not_negative},
          o.patience, may_change);
  visitor(Setting{"patience-on", "", "metric for early stopping and the best model"}, o.patience_on, fixed);
  visitor(Setting{"save-every", "UPDATES", "interval between checkpoints; 0: only at the end", not_negative},
          o.save_every, may_change);
  visitor(Setting{"keep", "N", "number of numbered checkpoints to keep", not_negative}, o.keep, may_change);
  visitor(Setting{"average", "N", "number of last checkpoints averaged at the end; 0: none", not_negative},
          o.average, may_change);
  visitor(Setting{"report-every", "UPDATES", "interval between lines of training/log.jsonl", not_negative},
          o.report_every, may_change);
  visitor(Setting{"tensorboard", "true|false",
                  "also write the curves for TensorBoard: tensorboard --logdir MODEL/training"},
          o.tensorboard, may_change);
  visitor(Setting{"report-parameters", "true|false",
                  "also log the root mean squares of every parameter, its gradient and its update"},
          o.report_parameters, may_change);
  visitor(
      Setting{"profile", "FILE",
              "time, GFLOP/s and bytes of every operation of updates 3 to 7: a table at the end, and a trace in "
              "this file for ui.perfetto.dev or chrome://tracing; measures the machine for two seconds"},
      o.profile, OnResume::not_stored);
}

}  // namespace option_table

template <class Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  option_table::visit_data(o, visitor);
  option_table::visit_update(o, visitor);
  option_table::visit_run(o, visitor);
}

}  // namespace qkv
