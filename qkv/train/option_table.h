// Every option of a training that is stored with it, row by row: name, unit, help, the field of TrainOptions, and
// whether a training that goes on may have another value than before. The flags of `qkv train`,
// training/options.json and qkv.train() of Python are made from these rows.
//
//     visit_options(options, [](const Setting& setting, auto& field, Change change) { ... });
#pragma once

#include "qkv/base/setting.h"
#include "qkv/train/options.h"

namespace qkv {

enum class Change { free, forbidden };

namespace option_table {

template <class Options, class Visitor>
void visit_data(Options& o, Visitor&& visitor) {
  // Files may move: that the sentences are the same ones is checked by their fingerprint.
  visitor(Setting{"train", "FILE",
                  "sentence pairs to learn: a TSV file (source TAB target), or two files a,b; plain or gzip"},
          o.train, Change::free);
  visitor(Setting{"valid", "FILE", "sentence pairs to validate on; none: those held out"}, o.valid, Change::free);
  visitor(Setting{"hold-out", "PAIRS", "so many pairs, by distinct source, are not learnt but validate"},
          o.hold_out, Change::forbidden);
  visitor(Setting{"max-length", "TOKENS", "leave out pairs with a longer side"}, o.max_length, Change::forbidden);
  visitor(Setting{"vocabulary-size", "TOKENS", "most pieces in the vocabulary"}, o.vocabulary_size,
          Change::forbidden);
  visitor(Setting{"tokenizer", "", "how the vocabulary is made"}, o.tokenizer, Change::forbidden);
  visitor(Setting{"character-coverage", "SHARE", "share of the characters that are in the vocabulary"},
          o.character_coverage, Change::forbidden);
  visitor(Setting{"lossless", "true|false", "a vocabulary that can say every text exactly"}, o.lossless,
          Change::forbidden);
}

template <class Options, class Visitor>
void visit_update(Options& o, Visitor&& visitor) {
  visitor(Setting{"batch-tokens", "TOKENS", "target tokens in a batch, padding counted"}, o.batch_tokens,
          Change::forbidden);
  visitor(Setting{"batch-sentences", "PAIRS", "pairs in a batch instead; 0: count tokens"}, o.batch_sentences,
          Change::forbidden);
  visitor(Setting{"accumulate", "N", "batches in an update"}, o.accumulate, Change::forbidden);
  visitor(Setting{"optimizer", "", "how parameters follow gradients"}, o.optimizer, Change::forbidden);
  visitor(Setting{"beta1", "RATE", "of Adam: share of the mean gradient that stays"}, o.beta1, Change::forbidden);
  visitor(Setting{"beta2", "RATE", "of Adam: share of the mean square that stays"}, o.beta2, Change::forbidden);
  visitor(Setting{"eps", "NUMBER", "of Adam: added to the root of the mean square"}, o.eps, Change::forbidden);
  visitor(Setting{"weight-decay", "RATE", "of adamw"}, o.weight_decay, Change::forbidden);
  visitor(Setting{"schedule", "", "how the learning rate changes"}, o.schedule, Change::forbidden);
  visitor(Setting{"learning-rate", "RATE", "the peak, or the factor of noam; 0: 1 for noam, else 5e-4"},
          o.learning_rate, Change::forbidden);
  visitor(Setting{"warmup", "UPDATES", "updates until the peak"}, o.warmup, Change::forbidden);
  visitor(Setting{"label-smoothing", "SHARE", "share of the target spread over all tokens"}, o.label_smoothing,
          Change::forbidden);
  visitor(Setting{"clip", "NORM", "largest norm of the gradient; 0: any"}, o.clip, Change::forbidden);
  visitor(Setting{"seed", "N", "of everything random"}, o.seed, Change::forbidden);
  visitor(Setting{"threads", "N", "0: one for every core"}, o.threads, Change::free);
}

template <class Options, class Visitor>
void visit_run(Options& o, Visitor&& visitor) {
  visitor(Setting{"max-steps", "UPDATES", "stop after so many; 0: no limit"}, o.max_steps, Change::free);
  visitor(Setting{"max-epochs", "EPOCHS", "stop after so many; 0: no limit"}, o.max_epochs, Change::free);
  visitor(Setting{"valid-every", "UPDATES", "validate; 0: only at the end"}, o.valid_every, Change::free);
  visitor(Setting{"valid-sentences", "PAIRS", "translate so many for BLEU; 0: none"}, o.valid_sentences,
          Change::free);
  visitor(Setting{"patience", "VALIDATIONS", "stop after so many without a new best; 0: never"}, o.patience,
          Change::free);
  visitor(Setting{"patience-on", "", "what is best"}, o.patience_on, Change::forbidden);
  visitor(Setting{"save-every", "UPDATES", "save the state; 0: only at the end"}, o.save_every, Change::free);
  visitor(Setting{"keep", "N", "numbered checkpoints to keep"}, o.keep, Change::free);
  visitor(Setting{"average", "N", "average the last so many into the model at the end"}, o.average, Change::free);
  visitor(Setting{"report-every", "UPDATES", "a line of log.jsonl"}, o.report_every, Change::free);
}

}  // namespace option_table

template <class Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  option_table::visit_data(o, visitor);
  option_table::visit_update(o, visitor);
  option_table::visit_run(o, visitor);
}

}  // namespace qkv
