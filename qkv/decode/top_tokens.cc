#include "qkv/decode/top_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/decode/larger_logits.h"
#include "qkv/decode/overflow.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), minus_infinity = -infinity;

// The `count` largest logits so far, sorted. Ids are offered in increasing order and only a strictly larger logit
// moves ahead of another, so equal ones stay sorted by id.
class Best {
 public:
  Best(TokenChoice* choices, int64_t count) : choices_(choices), count_(count) {}

  float threshold() const { return length_ < count_ ? minus_infinity : choices_[count_ - 1].log_probability; }
  int64_t length() const { return length_; }

  void offer(int32_t id, float logit) {
    if (!(logit > threshold())) return;
    if (length_ < count_) ++length_;
    int64_t at = length_ - 1;
    for (; at > 0 && logit > choices_[at - 1].log_probability; --at) choices_[at] = choices_[at - 1];
    choices_[at] = {id, logit};
  }

 private:
  TokenChoice* choices_;
  int64_t count_, length_ = 0;
};

// The tokens that the logits of a row are of.
class RowTokens {
 public:
  RowTokens(std::span<const int32_t> ids, int64_t V) : ids_(ids), size_(ids.empty() ? V : std::ssize(ids)) {}

  int64_t size() const { return size_; }
  int32_t id(int64_t index) const {
    return ids_.empty() ? static_cast<int32_t>(index) : ids_[static_cast<size_t>(index)];
  }
  int64_t index(int32_t id) const {  // -1: it is none of them
    if (ids_.empty()) return id >= 0 && id < size_ ? id : -1;
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    return at != ids_.end() && *at == id ? at - ids_.begin() : -1;
  }

 private:
  std::span<const int32_t> ids_;
  int64_t size_;
};

void check_rows(int64_t R, size_t given, const char* name) {
  require(given == 0 || static_cast<int64_t>(given) == R, "top_tokens",
          "{} must have {} rows, as the logits, got {}", name, R, given);
}

}  // namespace

TopTokens top_tokens(const Tensor& logits, int64_t count, const TopTokensOptions& options) {
  require(logits.rank() == 2 && logits.dtype() == DType::f32 && logits.contiguous() && logits.dim(1) >= 1,
          "top_tokens", "logits must be contiguous f32 (R,V), got {} {}", name_of(logits.dtype()), logits.shape());
  const int64_t R = logits.dim(0), V = logits.dim(1);
  const bool is_whole = options.ids_of_rows.empty();
  require(count >= 1 && options.eos >= -1 && (!is_whole || options.eos < V), "top_tokens",
          "count must be at least 1 and eos an id of the vocabulary of {}, or -1, got {} and {}", V, count,
          options.eos);
  check_rows(R, options.suppress_in_rows.size(), "suppress_in_rows");
  check_rows(R, options.extra_in_rows.size(), "extra_in_rows");
  check_rows(R, options.ids_of_rows.size(), "ids_of_rows");
  for (const std::span<const int32_t> ids : options.ids_of_rows)
    require(!ids.empty() && std::ssize(ids) <= V, "top_tokens", "a row of {} logits must have 1 to {} ids, got {}",
            V, V, ids.size());
  TopTokens top;
  top.count_ = std::min(count, V);
  top.choices_.resize(static_cast<size_t>(R * top.count_));
  top.lengths_.resize(static_cast<size_t>(R));
  top.eos_.resize(static_cast<size_t>(R));
  top.extra_.resize(options.extra_in_rows.size());
  const float* data = logits.data<float>();
  const std::vector<int32_t> none;
  const kernel::RowKernels& rows = kernel::kernels().rows;
  parallel_for(R, [&](int64_t r) {
    const float* x = data + r * V;
    const RowTokens tokens(is_whole ? std::span<const int32_t>() : options.ids_of_rows[static_cast<size_t>(r)], V);
    TokenChoice* choices = top.choices_.data() + r * top.count_;
    const std::vector<int32_t>& of_row =
        options.suppress_in_rows.empty() ? none : options.suppress_in_rows[static_cast<size_t>(r)];
    Best best(choices, top.count_);
    const auto is_candidate = [&](int32_t id) {
      const auto has = [id](const std::vector<int32_t>& ids) {
        return std::find(ids.begin(), ids.end(), id) != ids.end();
      };
      return id != options.eos && !has(options.suppress_tokens) && !has(of_row);
    };
    const auto check = [&](float logit) {
      require<Overflow>(!std::isnan(logit) && logit < infinity, "top_tokens",
                        "row {} of the logits holds +infinity or NaN", r);
    };
    for_each_larger(
        {x, static_cast<size_t>(tokens.size())}, [&] { return best.threshold(); },
        [&](int64_t v) {
          check(x[v]);
          if (const int32_t id = tokens.id(v); is_candidate(id)) best.offer(id, x[v]);
        });
    top.lengths_[static_cast<size_t>(r)] = best.length();
    // log p of the most likely token; the others differ from it as their logits do. (Differences to an unlikely
    // token would be large, with large rounding errors.)
    const int64_t eos = tokens.index(options.eos);
    const float of_eos = eos >= 0 ? x[eos] : minus_infinity;
    const bool eos_is_best = eos >= 0 && (best.length() == 0 || of_eos > choices[0].log_probability);
    const int64_t best_index = eos_is_best ? eos : best.length() > 0 ? tokens.index(choices[0].id) : 0;
    const float of_best = x[best_index];
    const float log_p =
        options.normalized ? -rows.cross_entropy(x, tokens.size(), best_index, 0.0f, 1.0f, nullptr) : 0.0f;
    check(log_p);
    // A smaller logit stays less likely after rounding: a search finds the same with a softmax and without.
    const auto relative = [&](float logit) {
      const float log_of_it = log_p + (logit - of_best);
      return logit < of_best && log_of_it == log_p ? std::nextafter(log_p, minus_infinity) : log_of_it;
    };
    top.eos_[static_cast<size_t>(r)] = eos >= 0 ? relative(of_eos) : minus_infinity;
    for (int64_t i = 0; i < best.length(); ++i) choices[i].log_probability = relative(choices[i].log_probability);
    if (options.extra_in_rows.empty()) return;
    for (const int32_t id : options.extra_in_rows[static_cast<size_t>(r)]) {
      const int64_t index = tokens.index(id);
      require(index >= 0, "top_tokens", "an extra token must be one of the {} of row {}, got {}", tokens.size(), r,
              id);
      const bool in_row =
          std::any_of(choices, choices + best.length(), [&](const TokenChoice& c) { return c.id == id; });
      if (!in_row && std::isfinite(x[index]))
        top.extra_[static_cast<size_t>(r)].push_back({id, relative(x[index])});
    }
  });
  return top;
}

TopTokens forced_token(int64_t rows, int32_t id) {
  TopTokens forced;
  const auto count = static_cast<size_t>(rows);
  forced.count_ = 1;
  forced.choices_.assign(count, {.id = id, .log_probability = 0});
  forced.lengths_.assign(count, 1);
  forced.eos_.assign(count, -std::numeric_limits<float>::infinity());
  return forced;
}

}  // namespace qkv
