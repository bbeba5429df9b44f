#include "qkv/model/stack_decoding.h"

#include <limits>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {

StackDecoding::StackDecoding(const Stack& stack, StackRows rows, const OutputProjection& output)
    : stack_(stack), rows_(std::move(rows)), of_all_(output), output_(output) {}

std::optional<int64_t> StackDecoding::restart_after() const {
  const bool has_memory = stack_.blocks.front().cross_attention.has_value();
  return has_memory ? std::nullopt : stack_.cache_valid_until();
}

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

Tensor StackDecoding::advance(std::span<const std::vector<int32_t>> tokens, Pass& pass) {
  if (!restart_after()) return stack_.extend(rows_, tokens, pass);
  return stack_.extend(rows_, with_restarts(tokens), pass);
}

Tensor StackDecoding::extend_each(std::span<const std::vector<int32_t>> tokens, Pass& pass) {
  require(std::ssize(tokens) == rows(), "Decoding::extend_each", "there must be tokens for each of {} rows, got {}",
          rows(), tokens.size());
  std::vector<int64_t> counts;
  for (size_t r = 0; r < tokens.size(); ++r) {
    counts.push_back(std::ssize(tokens[r]));
    const int64_t limit = max_at_once(static_cast<int64_t>(r));
    require(counts.back() <= limit, "Decoding::extend_each", "row {} takes {} tokens at once, got {}", r, limit,
            counts.back());
  }
  Pass each = pass;
  each.one_by_one = true;
  const NoGrad guard;
  const Tensor hidden = restart_after() ? stack_.extend(rows_, with_restarts(tokens), each, counts)
                                        : stack_.extend(rows_, tokens, each, counts);
  return output_.logits(hidden).value();
}

// The first tokens of a row are a prompt, which is read at once.
int64_t StackDecoding::max_at_once(int64_t row) const {
  const StackGroup& group = rows_.group_of(row);
  if (group.position == 0 || !group.takes_several()) return 1;
  constexpr int64_t any = std::numeric_limits<int64_t>::max();
  if (const auto limit = restart_after())
    return group.position > *limit ? any : std::max<int64_t>(1, *limit - group.position);
  return stack_.depends_on_length() ? 1 : any;
}

void StackDecoding::truncate(std::span<const int64_t> given) {
  require(std::ssize(given) == rows(), "Decoding::truncate", "there must be a length for each of {} rows, got {}",
          rows(), given.size());
  std::vector<int64_t> lengths(given.begin(), given.end());
  for (int64_t r = 0; r < rows(); ++r) {
    const StackGroup& group = rows_.group_of(r);
    int64_t& length = lengths[static_cast<size_t>(r)];
    require(length >= 0 && length <= group.position, "Decoding::truncate",
            "row {} has {} tokens, got a length of {}", r, group.position, length);
    if (length == group.position) continue;
    const auto limit = restart_after();
    if (!group.can_truncate() || (limit && length <= *limit && group.position > *limit)) length = 0;
  }
  stack_.truncate(rows_, lengths);
  for (size_t r = 0; r < history_.size(); ++r) history_[r].resize(static_cast<size_t>(lengths[r]));
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
