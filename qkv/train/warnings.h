// Signs of a failing training, in the numbers that it logs. Each gives one line: what is seen, and what to try.
//
//     source-unused       sources exchanged between sentences do not raise the validation loss: the decoder has become
//                         a language model, cross-attention is flat
//     bleu-falls          BLEU falls while the validation loss falls
//     loss-stands         the training loss no longer falls and is near that of token frequencies
//     gradients-explode   a gradient norm far above the usual one, and the loss has risen
//
//     TrainingWarnings warnings({.frequency_loss = 6.1});
//     for (const TrainingWarning& w : warnings.report({.step = 500, .loss = 6.0, .max_norm = 0.8})) print(w.text);
//
// A sign is reported when it appears, and again only after it has disappeared. The warnings depend on the calls
// alone: a resumed training repeats them from its log and continues in the same state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qkv/train/validation.h"

namespace qkv {

struct TrainingWarning {
  std::string name, text;
};

// The mean of some updates, as in a line of log.jsonl.
struct TrainingReport {
  int64_t step = 0;
  double loss = 0;      // per target token
  double max_norm = 0;  // the largest norm of a gradient
};

struct TrainingWarningOptions {
  double frequency_loss = 0;     // of a model that knows only the frequencies of the target tokens
  bool suggest_pre_norm = true;  // false if the norms are already there, or if there are none
};

class TrainingWarnings {
 public:
  explicit TrainingWarnings(const TrainingWarningOptions& options) : options_(options) {}

  std::vector<TrainingWarning> report(const TrainingReport& report);
  // The warnings after a validation of an encoder-decoder, and of a model without a source.
  std::vector<TrainingWarning> validation(int64_t step, const Validation& validation, const SourceUse& use);
  std::vector<TrainingWarning> validation(int64_t step, const Validation& validation);

 private:
  using Sign = std::optional<std::string>;  // its text; none: not seen
  Sign source_unused(int64_t step, const SourceUse& use) const;
  Sign bleu_falls(int64_t step, const Validation& validation);
  Sign loss_stands() const;
  Sign gradients_explode(const TrainingReport& report) const;
  std::string remedy() const;  // what helps most of the time
  std::optional<double> mean_loss(int64_t after, int64_t until) const;
  void add(std::vector<TrainingWarning>& warnings, const char* name, const Sign& sign);

  TrainingWarningOptions options_;
  std::vector<TrainingReport> reports_;
  std::map<std::string, bool> seen_;
  struct BestBleu {
    int64_t step = 0;
    double bleu = 0, loss = 0;
    int64_t lower_since = 0;  // validations in a row that were clearly lower
  };
  std::optional<BestBleu> best_;
};

}  // namespace qkv
