// Early stopping: which validation was the best, and how many have followed it.
//
//     EarlyStopping best({.patience = 5, .larger_is_better = true});
//     if (best.offer(bleu, step)) save();
//     if (best.exhausted()) return;        // `patience` validations without improvement
//
// A NaN is never the best. The state can be stored and restored.
#pragma once

#include <cstdint>
#include <optional>

namespace qkv {

struct EarlyStoppingOptions {
  int64_t patience = 0;  // validations without improvement before stopping; 0: never stop
  bool larger_is_better = false;
};

class EarlyStopping {
 public:
  struct State {
    std::optional<double> best;
    int64_t best_step = 0;
    int64_t since = 0;  // validations after the best one
    friend bool operator==(const State&, const State&) = default;
  };

  explicit EarlyStopping(const EarlyStoppingOptions& options) : options_(options) {}
  EarlyStopping(const EarlyStoppingOptions& options, const State& state) : options_(options), state_(state) {}

  bool better(double score) const;         // than the best so far
  bool offer(double score, int64_t step);  // whether it is the new best
  bool exhausted() const { return options_.patience > 0 && state_.since >= options_.patience; }
  const State& state() const { return state_; }

 private:
  EarlyStoppingOptions options_;
  State state_;
};

}  // namespace qkv
