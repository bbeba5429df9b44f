// How many tokens a draft model proposes for a row: twice as many as the last time if all of those were right, else one more
// than were. What is wrong costs the time of the draft model and a wider step of the model. So after two proposals without a
// right token one is left out, then two, four, ... up to 16, until a token is right: a draft model that never is right costs
// little. (A lookup costs nothing but the wider step, which hardly takes longer where the weights are read from memory; shorter
// lookups were slower.)
//
//     ProposalLength length(4);
//     const int64_t count = length.next(tokens);      // 0: propose nothing
//     length.proposed(tokens.size(), of_row);
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace qkv {

class ProposalLength {
 public:
  explicit ProposalLength(int64_t limit) : limit_(limit), wanted_(limit) {}

  // After `tokens`, which continue those after which something was proposed.
  int64_t next(std::span<const int32_t> tokens) {
    learn(tokens);
    if (waits_ == 0) return wanted_;
    --waits_;
    return 0;
  }

  // After `length` tokens.
  void proposed(size_t length, std::vector<int32_t> tokens) {
    length_ = length;
    proposed_ = std::move(tokens);
  }

 private:
  static constexpr int64_t longest_wait = 16;

  void learn(std::span<const int32_t> tokens) {
    if (proposed_.empty()) return;
    const auto right = std::ranges::mismatch(proposed_, tokens.subspan(length_)).in1 - proposed_.begin();
    wanted_ = std::min<int64_t>(limit_, right == std::ssize(proposed_) ? 2 * right : right + 1);
    proposed_.clear();
    if (right > 0) {
      misses_ = next_wait_ = 0;
      return;
    }
    if (++misses_ < 2) return;
    next_wait_ = next_wait_ == 0 ? 1 : std::min(longest_wait, 2 * next_wait_);
    waits_ = next_wait_;
  }

  int64_t limit_, wanted_;
  int64_t misses_ = 0, next_wait_ = 0, waits_ = 0;
  size_t length_ = 0;
  std::vector<int32_t> proposed_;
};

}  // namespace qkv
