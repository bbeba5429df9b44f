#include "qkv/model/stack_decoding.h"

#include <utility>

#include "qkv/base/error.h"

namespace qkv {

StackDecoding::StackDecoding(const Stack& stack, StackRows rows, Logits logits)
    : stack_(stack), rows_(std::move(rows)), logits_(std::move(logits)) {}

// These rows begin again, empty, in their places and get all of their tokens.
StackDecoding::Tokens StackDecoding::with_restarts(std::span<const std::vector<int32_t>> tokens) {
  const int64_t limit = *stack_.cache_valid_until();
  history_.resize(static_cast<size_t>(rows()));
  Tokens extended(tokens.begin(), tokens.end());
  std::vector<int64_t> kept, order(extended.size());
  int64_t restarted = 0;
  for (size_t r = 0; r < extended.size(); ++r) {
    std::vector<int32_t>& all = history_[r];
    const auto before = std::ssize(all);
    all.insert(all.end(), tokens[r].begin(), tokens[r].end());
    if (before > 0 && before <= limit && std::ssize(all) > limit) {
      extended[r] = all;
      order[r] = -1 - restarted++;
    } else {
      order[r] = std::ssize(kept);
      kept.push_back(static_cast<int64_t>(r));
    }
  }
  if (restarted == 0) return extended;
  for (int64_t& row : order)
    if (row < 0) row = std::ssize(kept) - 1 - row;
  StackRows empty = stack_.start(restarted);
  if (kept.empty()) {
    rows_ = std::move(empty);
  } else {
    rows_.reorder(kept);
    rows_.join(std::move(empty));
  }
  rows_.reorder(order);
  return extended;
}

Tensor StackDecoding::extend(std::span<const std::vector<int32_t>> tokens, Pass& pass) {
  const bool has_memory = stack_.blocks.front().cross_attention.has_value();
  if (!stack_.cache_valid_until() || has_memory) return logits_(stack_.extend(rows_, tokens, pass));
  return logits_(stack_.extend(rows_, with_restarts(tokens), pass));
}

void StackDecoding::reorder(std::span<const int64_t> source) {
  rows_.reorder(source);
  if (history_.empty()) return;
  Tokens histories;
  for (const int64_t row : source) histories.push_back(history_[static_cast<size_t>(row)]);
  history_ = std::move(histories);
}

void StackDecoding::join(Decoding& other) {
  auto* same = dynamic_cast<StackDecoding*>(&other);
  require(same && &same->stack_ == &stack_, "Decoding::join", "the rows must be of the same model");
  if (!history_.empty() || !same->history_.empty()) {
    history_.resize(static_cast<size_t>(rows()));
    same->history_.resize(static_cast<size_t>(same->rows()));
    history_.insert(history_.end(), same->history_.begin(), same->history_.end());
    same->history_.clear();
  }
  rows_.join(std::exchange(same->rows_, {}));
}

}  // namespace qkv
