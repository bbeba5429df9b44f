// Everything a training can be told; every field is a flag of `qkv train` and a key of training/options.json, with
// dashes for underscores.
//
//     TrainOptions options{.train = "pairs.tsv.gz", .model = "my-model"};
//     options.architecture = recipe("transformer-small");
//     TrainResult result = train(options);                     // train/train.h
//
//     TrainOptions again = stored_options("my-model");         // to go on: as it was, but for what may change
//     again.resume = true;
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "qkv/base/names.h"
#include "qkv/model/config.h"
#include "qkv/text/tokenizer.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/schedule.h"

namespace qkv {

enum class OptimizerKind { adam, adamw };
constexpr auto names_of(OptimizerKind) {
  return std::array{Named{OptimizerKind::adam, "adam"}, Named{OptimizerKind::adamw, "adamw"}};
}

enum class Goal { loss, bleu };  // what makes a validation the best one
constexpr auto names_of(Goal) { return std::array{Named{Goal::loss, "loss"}, Named{Goal::bleu, "bleu"}}; }

struct TrainOptions {
  // Sentence pairs, as text/corpus.h reads them.
  std::string train;
  std::string valid;  // none: the pairs held out validate, if there are any
  int64_t hold_out =
      0;  // so many pairs of `train`, by distinct source, are not learnt; see held-out.tsv in the model
  int64_t max_length = 256;  // pairs with a longer side (tokens, end included) are left out

  // What is made.
  std::filesystem::path model;     // a folder
  TransformerConfig architecture;  // its vocabularies are counted when they are made
  TokenizerType tokenizer = TokenizerType::unigram;
  int64_t vocabulary_size = 8000;  // of both languages together where architecture.tie is all, else of each
  double character_coverage = 0;   // 0: as much as has room (text/tokenizer.h)
  bool lossless = false;           // every text can be said exactly (text/tokenizer.h)

  // How long, in updates of the parameters; 0: no limit. A training that goes on may be given another end; the
  // schedules cosine and linear then fall towards that one.
  int64_t max_steps = 100'000;
  int64_t max_epochs = 0;
  int64_t patience = 0;  // validations without a new best
  Goal patience_on = Goal::loss;

  // An update. batch_sentences, if not 0, counts a batch in pairs instead of tokens.
  int64_t batch_tokens = 4096;
  int64_t batch_sentences = 0;
  int64_t accumulate = 1;  // batches in an update
  OptimizerKind optimizer = OptimizerKind::adam;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;
  double weight_decay = 0.01;  // of adamw
  ScheduleKind schedule = ScheduleKind::noam;
  double learning_rate = 0;  // the peak, or the factor of noam; 0: 1 for noam, 5e-4 for the others
  int64_t warmup = 4000;
  double label_smoothing = 0.1;
  double clip = 0;  // largest norm of the gradient; 0: any
  uint64_t seed = 1;
  int threads = 0;  // 0: as many as base/threads.h says

  // What is written, counted in updates; 0: only at the end.
  int64_t save_every = 1000;
  int64_t valid_every = 1000;
  int64_t report_every = 50;
  int64_t keep = 5;               // numbered checkpoints, at least `average` of them
  int64_t average = 0;            // at the end the mean of so many may become the model
  int64_t valid_sentences = 500;  // of the validation are translated for BLEU; 0: none
  bool quiet = false;             // nothing on stderr

  bool resume = false;     // go on from the folder's training state; begin where there is nothing yet
  bool overwrite = false;  // begin anew in a folder that has a model

  void (*before_updates)() = nullptr;  // once all is read; what it throws ends the training

  double rate() const;  // learning_rate, or what 0 stands for
  AdamOptions adam() const;
  ScheduleOptions schedule_options() const;
  void check() const;  // UsageError for numbers that make no sense
};

std::string to_json(const TrainOptions& options);
TrainOptions train_options_from_json(const std::string& text, const std::string& where);

// The options of the training in a model folder, the one that resume goes on with. InputError if there is none.
TrainOptions stored_options(const std::filesystem::path& model);

// The options that given ones are applied to: with resume those of the training in the folder, if one was
// begun there; else the defaults. A recipe says the architecture, also with resume: train() compares.
TrainOptions base_options(const std::filesystem::path& model, bool resume,
                          const std::optional<std::string>& recipe);

// The first difference that a training which goes on must not have: "'batch-tokens' was 4096 and is now 2048";
// `before` is to_json() of the options then.
std::optional<std::string> difference(const std::string& before, const TrainOptions& now, const std::string& where);

}  // namespace qkv
