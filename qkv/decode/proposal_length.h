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
  static constexpr int64_t longest_wait_log2 = 4;

  void learn(std::span<const int32_t> tokens) {
    if (proposed_.empty()) return;
    const auto right = std::ranges::mismatch(proposed_, tokens.subspan(length_)).in1 - proposed_.begin();
    wanted_ = std::min<int64_t>(limit_, right == std::ssize(proposed_) ? 2 * right : right + 1);
    proposed_.clear();
    misses_ = right > 0 ? 0 : misses_ + 1;
    waits_ = misses_ < 2 ? 0 : int64_t{1} << std::min<int64_t>(misses_ - 2, longest_wait_log2);
  }

  int64_t limit_, wanted_;
  int64_t misses_ = 0;  // proposals without a right token since the last one with one
  int64_t waits_ = 0;   // proposals to leave out
  size_t length_ = 0;
  std::vector<int32_t> proposed_;
};

}  // namespace qkv
