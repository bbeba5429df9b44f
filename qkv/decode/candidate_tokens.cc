#include "qkv/decode/candidate_tokens.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/op/rows.h"

namespace qkv {

void sort_unique(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

CandidateTokens::CandidateTokens(std::span<const std::vector<int32_t>> lists, std::span<const int64_t> sequences) {
  if (lists.empty()) return;
  for (const int64_t sequence : sequences) {
    const std::vector<int32_t>& ids = lists_.emplace_back(List{lists[static_cast<size_t>(sequence)], {}}).ids;
    require(!ids.empty() && std::is_sorted(ids.begin(), ids.end(), std::less_equal<>()), "CandidateTokens",
            "the candidates of a sequence must be one or more ids, sorted, each once; got {}", ids.size());
    all_.insert(all_.end(), ids.begin(), ids.end());
  }
  sort_unique(all_);
  for (List& list : lists_)
    for (const int32_t id : list.ids)
      list.columns.push_back(static_cast<int32_t>(std::lower_bound(all_.begin(), all_.end(), id) - all_.begin()));
}

void CandidateTokens::restrict_logits(Decoding& rows) const {
  if (!lists_.empty()) rows.restrict_logits(all_);
}

TopTokens CandidateTokens::extend(Decoding& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass,
                                  std::span<const size_t> sequences, int64_t count,
                                  TopTokensOptions options) const {
  constexpr int64_t few_logits = 65536;  // stay in the second-level cache
  const int64_t R = std::ssize(tokens), V = rows.vocabulary();
  if (lists_.empty() && R * V <= few_logits) return top_tokens(rows.extend(tokens, pass), count, options);
  if (lists_.empty()) {
    TopTokensScan scan(R, V, count, options, threads());
    rows.extend(tokens, pass, threads(), [&](const kernel::ProductBlock& block) { scan.read(block); });
    return scan.finish();
  }
  for (const size_t sequence : sequences) options.ids_of_rows.emplace_back(lists_[sequence].ids);
  return top_tokens(own_logits(rows.extend(tokens, pass), sequences), count, options);
}

// (R,U) -> (R,W), where W is the largest number of tokens of a sequence: a shorter row ends in -infinity.
Tensor CandidateTokens::own_logits(const Tensor& logits, std::span<const size_t> sequences) const {
  const auto R = std::ssize(sequences), U = std::ssize(all_);
  require(logits.shape() == Shape{R, U} && logits.contiguous(), "CandidateTokens",
          "logits must be (R,U) with {} rows and {} tokens, contiguous, got {}", R, U, logits.shape());
  size_t W = 1;
  for (const size_t sequence : sequences) W = std::max(W, lists_[sequence].ids.size());
  Tensor own = Tensor::empty({R, static_cast<int64_t>(W)});
  for_each_row(R, static_cast<int64_t>(W), [&](int64_t r) {
    const float* from = logits.data<float>() + r * U;
    float* const row = own.data<float>() + r * static_cast<int64_t>(W);
    float* to = row;
    for (const int32_t column : lists_[sequences[static_cast<size_t>(r)]].columns) *to++ = from[column];
    std::fill(to, row + W, -std::numeric_limits<float>::infinity());
  });
  return own;
}

}  // namespace qkv
