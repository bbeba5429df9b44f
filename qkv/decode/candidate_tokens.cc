#include "qkv/decode/candidate_tokens.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/sort_unique.h"
#include "qkv/base/threads.h"
#include "qkv/op/rows.h"

namespace qkv {

CandidateTokens::CandidateTokens(std::span<const std::vector<int32_t>> lists, std::span<const int64_t> sequences) {
  if (lists.empty()) return;
  for (const int64_t sequence : sequences) lists_.push_back({lists[static_cast<size_t>(sequence)], {}});
  find_columns();
}

CandidateTokens::CandidateTokens(std::span<const std::vector<int32_t>> lists) {
  for (const std::vector<int32_t>& ids : lists) lists_.push_back({ids, {}});
  find_columns();
}

void CandidateTokens::find_columns() {
  for (const auto& [ids, columns] : lists_) {
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

namespace {

// The best tokens where no softmax is asked for: those of a few logits, which include the largest.
const TopTokens& best_of_largest(Decoding& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass,
                                 int64_t count, const TopTokensOptions& options, TopTokensScan& scan) {
  const auto R = static_cast<size_t>(std::ssize(tokens));
  std::vector<std::vector<int32_t>> also(R);  // logits that are wanted whether they are large or not
  std::vector<int64_t> counts(R);
  std::vector<size_t> all(R);
  for (size_t r = 0; r < R; ++r) {
    if (options.eos >= 0) also[r].push_back(options.eos);
    if (!options.extra_in_rows.empty())
      also[r].insert(also[r].end(), options.extra_in_rows[r].begin(), options.extra_in_rows[r].end());
    const size_t suppressed = options.suppress_tokens.size() +
                              (options.suppress_in_rows.empty() ? 0 : options.suppress_in_rows[r].size());
    counts[r] = count + static_cast<int64_t>(suppressed) + (options.eos >= 0 ? 1 : 0);
    all[r] = r;
  }
  const OutputProjection::LargestLogits largest = rows.extend_to_largest(tokens, pass, counts, also);
  if (largest.ids.empty()) return scan.of(largest.logits, count, options);
  const CandidateTokens found(largest.ids);
  return found.best(largest.logits, all, count, options, scan);
}

}  // namespace

const TopTokens& CandidateTokens::extend(Decoding& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass,
                                         std::span<const size_t> sequences, int64_t count,
                                         const TopTokensOptions& options, TopTokensScan& scan) const {
  constexpr int64_t few_logits = 65536;  // stay in the second-level cache
  const int64_t R = std::ssize(tokens), V = rows.vocabulary();
  if (lists_.empty() && !options.normalized && rows.searches_largest(R))
    return best_of_largest(rows, tokens, pass, count, options, scan);
  if (lists_.empty() && R * V <= few_logits) return scan.of(rows.extend(tokens, pass), count, options);
  if (lists_.empty()) {
    scan.start(R, V, count, options, threads());
    rows.extend(tokens, pass, threads(), [&](const kernel::ProductBlock& block) { scan.read(block); });
    return scan.finish();
  }
  return best(rows.extend(tokens, pass), sequences, count, options, scan);
}

const TopTokens& CandidateTokens::best(const Tensor& logits, std::span<const size_t> sequences, int64_t count,
                                       TopTokensOptions options, TopTokensScan& scan) const {
  for (const size_t sequence : sequences) options.ids_of_rows.emplace_back(lists_[sequence].ids);
  return scan.of(own_logits(logits, sequences), count, options);
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
