#include "qkv/decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/decode/option_table.h"
#include "qkv/decode/overflow.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/larger_numbers.h"

namespace qkv {
namespace {

constexpr double forbidden = -std::numeric_limits<double>::infinity();

struct SampledToken {
  int32_t id;
  double score;  // changed logit; from apply_temperature() on: weight, 1 for the most likely token
};
using Candidates = std::vector<SampledToken>;

void check_ids(std::span<const int32_t> ids, size_t vocabulary, const char* what) {
  for (const int32_t id : ids)
    require(id >= 0 && static_cast<size_t>(id) < vocabulary, "sampling",
            "token {} of {} is outside the vocabulary of {}", id, what, vocabulary);
}

// Numbers, or the minus infinity of a token that the caller forbids.
void check_logits(std::span<const float> logits) {
  const auto valid = [](float x) { return x < std::numeric_limits<float>::infinity(); };
  const auto bad = std::find_if_not(logits.begin(), logits.end(), valid);
  if (bad != logits.end()) fail<Overflow>("sampling", "the logit of token {} is {}", bad - logits.begin(), *bad);
}

// The same error, which says in which row.
template <class Kind>
[[noreturn]] void fail_in_row(int64_t row, const Kind& error) {
  fail<Kind>("sampling", "row {}: {}", row, std::string_view(error.what()).substr(error.op().size() + 2));
}

void penalize_repetition(std::vector<double>& scores, std::span<const int32_t> history, double penalty) {
  if (penalty == 1.0) return;
  std::vector<int32_t> ids(history.begin(), history.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());  // once for a token, however often it occurs
  for (const int32_t id : ids) {
    double& score = scores[static_cast<size_t>(id)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

// Forbids the last token of every n-gram of the history that begins with the last n - 1 tokens.
void forbid_repeated_ngrams(std::vector<double>& scores, std::span<const int32_t> history, int64_t ngram) {
  for (const int32_t id : ends_of_repeated_ngrams(history, ngram)) scores[static_cast<size_t>(id)] = forbidden;
}

// The tokens that are not forbidden, by id.
Candidates allowed_tokens(std::span<const float> logits, std::span<const int32_t> history,
                          const SamplingOptions& options) {
  check_logits(logits);
  std::vector<double> scores(logits.begin(), logits.end());
  penalize_repetition(scores, history, options.repetition_penalty);
  forbid_repeated_ngrams(scores, history, options.no_repeat_ngram);
  for (const int32_t id : options.suppress_tokens) scores[static_cast<size_t>(id)] = forbidden;
  Candidates out;
  out.reserve(scores.size());
  for (size_t v = 0; v < scores.size(); ++v)
    if (scores[v] != forbidden) out.push_back({static_cast<int32_t>(v), scores[v]});
  require(!out.empty(), "sampling", "all {} tokens are forbidden", scores.size());
  return out;
}

bool smaller(const SampledToken& a, const SampledToken& b) { return a.score < b.score; }
bool less_likely(const SampledToken& a, const SampledToken& b) {
  return a.score < b.score || (a.score == b.score && a.id < b.id);
}

void keep_top_k(Candidates& candidates, int64_t k) {
  if (k == 0 || static_cast<uint64_t>(k) >= candidates.size()) return;
  Candidates top(static_cast<size_t>(k));
  std::partial_sort_copy(candidates.begin(), candidates.end(), top.begin(), top.end(),
                         [](const SampledToken& a, const SampledToken& b) { return smaller(b, a); });
  std::erase_if(candidates, [&](const SampledToken& candidate) { return smaller(candidate, top.back()); });
}

// Logits to weights, exp((x - max) / t).
void apply_temperature(Candidates& candidates, double temperature) {
  const double largest = std::max_element(candidates.begin(), candidates.end(), smaller)->score;
  for (SampledToken& candidate : candidates) candidate.score = std::exp((candidate.score - largest) / temperature);
}

// In a heap the most likely tokens come first, and only those that are kept have to be sorted.
void keep_top_p(Candidates& candidates, double p) {
  if (p >= 1.0) return;
  double total = 0, kept = 0;
  for (const SampledToken& candidate : candidates) total += candidate.score;
  std::make_heap(candidates.begin(), candidates.end(), less_likely);
  auto end = candidates.end();
  do {
    std::pop_heap(candidates.begin(), end, less_likely);
    kept += (--end)->score;
  } while (end != candidates.begin() && kept < p * total);
  candidates.erase(candidates.begin(), end);
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

void keep_min_p(Candidates& candidates, double m) {
  std::erase_if(candidates, [m](const SampledToken& candidate) { return candidate.score < m; });
}

// The first of the largest logits that are not forbidden.
int32_t likeliest(std::span<const float> logits, const std::vector<int32_t>& forbidden_ids = {}) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float largest = -infinity;
  int32_t found = -1;
  for_each_larger(
      logits, [&] { return largest; },
      [&](int64_t v) {
        const float logit = logits[static_cast<size_t>(v)];
        if (!(logit < infinity)) check_logits(logits);
        const auto id = static_cast<int32_t>(v);
        if (std::find(forbidden_ids.begin(), forbidden_ids.end(), id) != forbidden_ids.end()) return;
        largest = logit;
        found = id;
      });
  require(found >= 0, "sampling", "all {} tokens are forbidden", logits.size());
  return found;
}

// Tokens and weights, by id.
Candidates candidates_of(std::span<const float> logits, std::span<const int32_t> history,
                         const SamplingOptions& options) {
  if (options.temperature == 0 && options.repetition_penalty == 1.0) {
    std::vector<int32_t> forbidden_ids = options.suppress_tokens;
    const std::vector<int32_t> ends = ends_of_repeated_ngrams(history, options.no_repeat_ngram);
    forbidden_ids.insert(forbidden_ids.end(), ends.begin(), ends.end());
    return {{likeliest(logits, forbidden_ids), 1.0}};
  }
  Candidates candidates = allowed_tokens(logits, history, options);
  if (options.temperature == 0) {
    const auto largest =
        std::max_element(candidates.begin(), candidates.end(), smaller);  // the first of equal ones
    return {{largest->id, 1.0}};
  }
  // A division by the temperature keeps the order, so top_k may come first: fewer exponentials.
  keep_top_k(candidates, options.top_k);
  apply_temperature(candidates, options.temperature);
  keep_top_p(candidates, options.top_p);
  keep_min_p(candidates, options.min_p);
  return candidates;
}

// [0, 1)
double random_number(const SamplingOptions& options, const SamplingRow& row) {
  constexpr uint64_t purpose = 0x73616d70;
  const auto bits = philox(options.seed, mix(purpose, row.stream), static_cast<uint64_t>(row.position));
  return static_cast<double>(((uint64_t{bits[0]} << 32) | bits[1]) >> 11) * 0x1p-53;
}

int32_t draw(const Candidates& candidates, double random) {
  double total = 0, sum = 0;
  for (const SampledToken& candidate : candidates) total += candidate.score;
  for (const SampledToken& candidate : candidates)
    if ((sum += candidate.score) > random * total) return candidate.id;
  return candidates.back().id;
}

// From the most likely token: the difference of its logit to another is exact enough (top_tokens.cc).
float log_probability(std::span<const float> logits, int32_t id) {
  const int32_t largest = likeliest(logits);
  const float log_p = -kernel::kernels().rows.cross_entropy(logits.data(), static_cast<int64_t>(logits.size()),
                                                            largest, 0.0f, 1.0f, nullptr);
  return log_p + (logits[static_cast<size_t>(id)] - logits[static_cast<size_t>(largest)]);
}

}  // namespace

std::vector<int32_t> ends_of_repeated_ngrams(std::span<const int32_t> history, int64_t n) {
  std::vector<int32_t> ends;
  if (n == 0 || static_cast<uint64_t>(n) > history.size()) return ends;
  const auto before = static_cast<size_t>(n) - 1;
  const auto last = history.last(before);
  for (size_t i = 0; i + before < history.size(); ++i)
    if (std::ranges::equal(history.subspan(i, before), last)) ends.push_back(history[i + before]);
  return ends;
}

void check_options(const SamplingOptions& o) { visit_options(o, CheckRanges{"sampling"}); }

std::vector<std::string> sampling_names() {
  std::vector<std::string> names;
  const SamplingOptions options;
  const auto add = [&](const Setting& setting, const auto&) { names.emplace_back(setting.name); };
  option_table::visit_draws(options, add);
  option_table::visit_repetition(options, add);
  return names;
}

std::vector<TokenProbability> sampling_distribution(std::span<const float> logits, std::span<const int32_t> history,
                                                    const SamplingOptions& options) {
  check_options(options);
  check_ids(options.suppress_tokens, logits.size(), "suppress_tokens");
  check_ids(history, logits.size(), "the history");
  double total = 0;
  std::vector<TokenProbability> out;
  for (const auto& [id, weight] : candidates_of(logits, history, options)) {
    total += weight;
    out.push_back({id, weight});
  }
  for (TokenProbability& token : out) token.probability /= total;
  return out;
}

std::vector<TokenChoice> sample_tokens(const Tensor& logits, std::span<const SamplingRow> rows,
                                       const SamplingOptions& options) {
  check_options(options);
  require(logits.rank() == 2 && logits.dtype() == DType::f32 && logits.contiguous() && logits.dim(1) >= 1 &&
              logits.dim(0) == static_cast<int64_t>(rows.size()),
          "sampling", "logits must be contiguous f32 (R,V) with R rows of options, got {} {} and {} rows",
          name_of(logits.dtype()), logits.shape(), rows.size());
  const auto V = static_cast<size_t>(logits.dim(1));
  check_ids(options.suppress_tokens, V, "suppress_tokens");
  std::vector<TokenChoice> out(rows.size());
  parallel_for(logits.dim(0), [&](int64_t r) {
    const SamplingRow& row = rows[static_cast<size_t>(r)];
    const std::span<const float> of_row = logits.span<float>().subspan(static_cast<size_t>(r) * V, V);
    try {
      check_ids(row.history, V, "the history");
      require(row.position >= 0, "sampling", "the position must be at least 0, got {}", row.position);
      const int32_t id = draw(candidates_of(of_row, row.history, options), random_number(options, row));
      out[static_cast<size_t>(r)] = {id, log_probability(of_row, id)};
    } catch (const Overflow& error) {
      fail_in_row(r, error);
    } catch (const Error& error) {
      fail_in_row(r, error);
    }
  });
  return out;
}

}  // namespace qkv
