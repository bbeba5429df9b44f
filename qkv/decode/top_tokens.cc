#include "qkv/decode/top_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/threads.h"
#include "qkv/decode/overflow.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/larger_numbers.h"

namespace qkv {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), minus_infinity = -infinity;

// The `count` largest logits so far, sorted. Ids are offered in increasing order and only a strictly larger logit
// moves ahead of another, so equal ones stay sorted by id.
class Best {
 public:
  Best(TokenChoice* choices, int64_t count, int64_t length = 0)
      : choices_(choices), count_(count), length_(length) {}

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
  int64_t count_, length_;
};

void check_rows(int64_t R, size_t given, const char* name) {
  require(given == 0 || static_cast<int64_t>(given) == R, "top_tokens",
          "{} must have {} rows, as the logits, got {}", name, R, given);
}

void check(float logit, int64_t r) {
  require<Overflow>(!std::isnan(logit) && logit < infinity, "top_tokens",
                    "row {} of the logits holds +infinity or NaN", r);
}

// Where a token is among those of a row, which are `ids` if there are some; -1: nowhere.
int64_t column_of(int32_t id, std::span<const int32_t> ids, int64_t V) {
  if (ids.empty()) return id >= 0 && id < V ? id : -1;
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  return at != ids.end() && *at == id ? at - ids.begin() : -1;
}

bool has(const std::vector<int32_t>& ids, int32_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

}  // namespace

void TopTokensScan::start(int64_t R, int64_t V, int64_t count, const TopTokensOptions& options, int parts) {
  options_ = &options;
  R_ = R;
  V_ = V;
  count_ = std::min(count, V);
  parts_ = parts;
  blocks_ = ceil_div(V, kernel::block_columns);
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
  choices_.resize(static_cast<size_t>(R * parts_ * count_));
  lengths_.assign(static_cast<size_t>(R * parts_), 0);
  if (options.normalized) sums_.assign(static_cast<size_t>(R * blocks_), {minus_infinity, 0.0f});
  eos_.assign(static_cast<size_t>(R), minus_infinity);
  extra_.resize(options.extra_in_rows.size());
  for (int64_t r = 0; r < std::ssize(extra_); ++r) {
    for (const int32_t id : extra_of(r))
      require(column_of(id, ids_of(r), V) >= 0, "top_tokens",
              "an extra token must be one of the {} of row {}, got {}", is_whole ? V : std::ssize(ids_of(r)), r,
              id);
    extra_[static_cast<size_t>(r)].assign(extra_of(r).size(), minus_infinity);
  }
}

std::span<const int32_t> TopTokensScan::ids_of(int64_t r) const {
  return options_->ids_of_rows.empty() ? std::span<const int32_t>() : options_->ids_of_rows[static_cast<size_t>(r)];
}

std::span<const int32_t> TopTokensScan::extra_of(int64_t r) const {
  return options_->extra_in_rows.empty() ? std::span<const int32_t>()
                                         : options_->extra_in_rows[static_cast<size_t>(r)];
}

bool TopTokensScan::is_candidate(int32_t id, int64_t r) const {
  return id != options_->eos && !has(options_->suppress_tokens, id) &&
         (options_->suppress_in_rows.empty() || !has(options_->suppress_in_rows[static_cast<size_t>(r)], id));
}

void TopTokensScan::read(const kernel::ProductBlock& block) {
  for (int64_t r = 0; r < block.rows; ++r)
    read_row(block.first_row + r, block.part, block.first_column, block.columns, block.c + r * block.c_row_stride);
}

void TopTokensScan::read_row(int64_t r, int part, int64_t first, int64_t columns, const float* x) {
  const std::span<const int32_t> ids = ids_of(r);
  if (!ids.empty()) columns = std::min(columns, std::ssize(ids) - first);
  if (columns <= 0) return;
  const size_t row = at(r, part);
  Best best(choices_.data() + row * static_cast<size_t>(count_), count_, lengths_[row]);
  for_each_larger(
      {x, static_cast<size_t>(columns)}, [&] { return best.threshold(); },
      [&](int64_t v) {
        check(x[v], r);
        const int32_t id = ids.empty() ? static_cast<int32_t>(first + v) : ids[static_cast<size_t>(first + v)];
        if (is_candidate(id, r)) best.offer(id, x[v]);
      });
  lengths_[row] = best.length();
  const auto logit_of = [&](int32_t id, float& logit) {
    const int64_t column = column_of(id, ids, V_) - first;
    if (column >= 0 && column < columns) logit = x[column];
  };
  if (options_->eos >= 0) logit_of(options_->eos, eos_[static_cast<size_t>(r)]);
  for (size_t i = 0; i < extra_of(r).size(); ++i) logit_of(extra_of(r)[i], extra_[static_cast<size_t>(r)][i]);
  if (options_->normalized)
    sums_[static_cast<size_t>(r * blocks_ + first / kernel::block_columns)] =
        kernel::kernels().rows.exponential_sum(x, columns);
}

double TopTokensScan::log_sum(int64_t r) const {
  const auto of_row = std::span(sums_).subspan(static_cast<size_t>(r * blocks_), static_cast<size_t>(blocks_));
  float largest = minus_infinity;
  for (const kernel::ExponentialSum& block : of_row) largest = std::max(largest, block.largest);
  double sum = 0.0;
  for (const kernel::ExponentialSum& block : of_row)
    if (block.sum != 0.0f) sum += block.sum * std::exp(double{block.largest} - double{largest});
  return largest + std::log(sum);
}

const TopTokens& TopTokensScan::finish() {
  top_.count_ = count_;
  top_.choices_.resize(static_cast<size_t>(R_ * count_));
  top_.lengths_.resize(static_cast<size_t>(R_));
  top_.eos_.resize(static_cast<size_t>(R_));
  top_.extra_.resize(extra_.size());
  for (std::vector<TokenChoice>& of_row : top_.extra_) of_row.clear();
  for (int64_t r = 0; r < R_; ++r) finish_row(r);
  return top_;
}

void TopTokensScan::finish_row(int64_t r) {
  const auto row = static_cast<size_t>(r);
  TokenChoice* const choices = top_.choices_.data() + r * count_;
  Best best(choices, count_);
  for (int64_t part = 0; part < parts_; ++part)
    for (int64_t i = 0; i < lengths_[at(r, part)]; ++i) {
      const TokenChoice& choice = choices_[at(r, part) * static_cast<size_t>(count_) + static_cast<size_t>(i)];
      best.offer(choice.id, choice.log_probability);
    }
  top_.lengths_[row] = best.length();
  // log p of the most likely token; the others differ from it as their logits do. (Differences to an unlikely
  // token would be large, with large rounding errors.)
  const float eos = eos_[row];
  float of_best = best.length() > 0 ? std::max(choices[0].log_probability, eos) : eos;
  for (size_t i = 0; of_best == minus_infinity && i < extra_of(r).size(); ++i)
    of_best = std::max(of_best, extra_[row][i]);
  const float log_p = options_->normalized ? static_cast<float>(of_best - log_sum(r)) : 0.0f;
  check(log_p, r);
  // A smaller logit stays less likely after rounding: a search finds the same with a softmax and without.
  const auto relative = [&](float logit) {
    const float log_of_it = log_p + (logit - of_best);
    return logit < of_best && log_of_it == log_p ? std::nextafter(log_p, minus_infinity) : log_of_it;
  };
  top_.eos_[row] = eos == minus_infinity ? minus_infinity : relative(eos);
  for (int64_t i = 0; i < best.length(); ++i) choices[i].log_probability = relative(choices[i].log_probability);
  for (size_t i = 0; i < extra_of(r).size(); ++i) {
    const int32_t id = extra_of(r)[i];
    const float logit = extra_[row][i];
    const bool is_chosen =
        std::any_of(choices, choices + best.length(), [&](const TokenChoice& choice) { return choice.id == id; });
    if (!is_chosen && std::isfinite(logit)) top_.extra_[row].push_back({id, relative(logit)});
  }
}

const TopTokens& TopTokensScan::of(const Tensor& logits, int64_t count, const TopTokensOptions& options) {
  require(logits.rank() == 2 && logits.dtype() == DType::f32 && logits.contiguous() && logits.dim(1) >= 1,
          "top_tokens", "logits must be contiguous f32 (R,V), got {} {}", name_of(logits.dtype()), logits.shape());
  const int64_t R = logits.dim(0), V = logits.dim(1);
  start(R, V, count, options);
  const float* const data = logits.data<float>();
  parallel_for(R, [&](int64_t r) {
    for (int64_t first = 0; first < V; first += kernel::block_columns)
      read_row(r, 0, first, std::min(kernel::block_columns, V - first), data + r * V + first);
  });
  return finish();
}

TopTokens top_tokens(const Tensor& logits, int64_t count, const TopTokensOptions& options) {
  return TopTokensScan().of(logits, count, options);
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
