#include "qkv/metric/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/core.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/metric/ngrams.h"
#include "qkv/metric/references.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

// A line as a sequence of word numbers.
std::u32string symbols(std::string_view line, const BleuOptions& options, metric::Words& numbers) {
  std::u32string text = utf8_decode(line);
  if (options.lowercase) text = lowercase(text);
  while (!text.empty() && is_space(text.back())) text.pop_back();
  const std::u32string tokens = tokenize(std::u32string_view(text), options.tokenizer);
  std::u32string out;
  for (const std::u32string_view word : words(tokens)) out.push_back(numbers.number(word));
  return out;
}

// Hypothesis length, reference length, matches by order, totals by order.
std::vector<double> statistics(const std::string& hypothesis, const std::vector<std::string_view>& references,
                               const BleuOptions& options) {
  metric::Words numbers;
  const std::u32string words = symbols(hypothesis, options, numbers);
  std::vector<std::u32string> references_words;
  references_words.reserve(references.size());
  for (const std::string_view reference : references)
    references_words.push_back(symbols(reference, options, numbers));

  const auto length = static_cast<int64_t>(words.size());
  const auto closeness = [&](const std::u32string& reference) {  // the shorter of two equally close lengths
    const auto size = static_cast<int64_t>(reference.size());
    return std::pair(std::abs(size - length), size);
  };
  const auto closest = std::min_element(references_words.begin(), references_words.end(),
                                        [&](auto& a, auto& b) { return closeness(a) < closeness(b); });
  const auto orders = static_cast<size_t>(options.max_order);
  std::vector<double> row(2 + 2 * orders);
  row[0] = static_cast<double>(words.size());
  row[1] = static_cast<double>(closest->size());
  for (size_t order = 0; order < orders; ++order) {
    const int n = static_cast<int>(order) + 1;
    metric::NgramCounts clip;  // the maximum count of an n-gram in any one reference
    for (const std::u32string& reference : references_words)
      for (const auto& [ngram, count] : metric::count_ngrams(reference, n))
        clip[ngram] = std::max(clip[ngram], count);
    const metric::NgramCounts counts = metric::count_ngrams(words, n);
    row[2 + order] = static_cast<double>(metric::matches(counts, clip));
    row[2 + orders + order] = static_cast<double>(metric::total(counts));
  }
  return row;
}

metric::Statistics statistics(std::span<const std::string> hypotheses, const metric::References& references,
                              const BleuOptions& options) {
  require<UsageError>(options.max_order >= 1, "bleu", "max_order is {}, expected at least 1", options.max_order);
  metric::Statistics rows;
  for (size_t i = 0; i < hypotheses.size(); ++i)
    rows.push_back(statistics(hypotheses[i], references.of(i), options));
  return rows;
}

// Computes precisions, brevity penalty and score from the sums of matches, totals and lengths.
void finish(BleuScore& s, const BleuOptions& options) {
  const auto orders = static_cast<size_t>(options.max_order);
  s.precisions.assign(orders, 0.0);
  if (s.hypothesis_length < s.reference_length)
    s.brevity_penalty =
        s.hypothesis_length == 0
            ? 0.0
            : std::exp(1.0 - static_cast<double>(s.reference_length) / static_cast<double>(s.hypothesis_length));
  if (std::all_of(s.matches.begin(), s.matches.end(), [](double m) { return m == 0; })) return;

  double share = 1;  // of a match, for exponential smoothing
  size_t used = orders;
  for (size_t i = 0; i < orders; ++i) {
    if (options.smoothing == BleuSmoothing::add_k && i > 0) {
      s.matches[i] += smoothing_value(options);
      s.totals[i] += smoothing_value(options);
    }
    if (s.totals[i] == 0) break;
    if (options.effective_order) used = i + 1;
    double matched = s.matches[i];
    if (matched == 0 && options.smoothing == BleuSmoothing::exponential) matched = share /= 2;
    if (matched == 0 && options.smoothing == BleuSmoothing::floor) matched = smoothing_value(options);
    s.precisions[i] = 100.0 * matched / s.totals[i];
  }
  double logs = 0;  // log 0 is minus infinity, its exponential a zero score
  for (size_t i = 0; i < used; ++i) logs += std::log(s.precisions[i]);
  s.score = s.brevity_penalty * std::exp(logs / static_cast<double>(used));
}

}  // namespace

metric::Statistics bleu_statistics(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> reference_streams,
                                   const BleuOptions& options) {
  return statistics(hypotheses, metric::References("bleu", hypotheses.size(), reference_streams), options);
}

BleuScore bleu_of(std::span<const double> sums, const BleuOptions& options) {
  const auto orders = static_cast<size_t>(options.max_order);
  BleuScore score;
  score.hypothesis_length = static_cast<int64_t>(sums[0]);
  score.reference_length = static_cast<int64_t>(sums[1]);
  const std::span<const double> matches = sums.subspan(2, orders), totals = sums.subspan(2 + orders, orders);
  score.matches.assign(matches.begin(), matches.end());
  score.totals.assign(totals.begin(), totals.end());
  finish(score, options);
  return score;
}

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options) {
  const metric::References checked("bleu", hypotheses.size(), references);
  return bleu_of(metric::sum(statistics(hypotheses, checked, options)), options);
}

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
               const BleuOptions& options) {
  return bleu_of(metric::sum(bleu_statistics(hypotheses, reference_streams, options)), options);
}

BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options) {
  return bleu({&hypothesis, 1}, metric::streams_of(references), options);
}

std::string BleuScore::to_string() const { return fmt::format("BLEU = {:.2f} {}", score, details()); }

std::string BleuScore::details() const {
  const double ratio =
      reference_length == 0 ? 0.0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
  std::string by_order;
  for (const double p : precisions) by_order += fmt::format("{}{:.1f}", by_order.empty() ? "" : "/", p);
  return fmt::format("{} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", by_order, brevity_penalty, ratio,
                     hypothesis_length, reference_length);
}

std::string signature(const BleuOptions& options, int references) {
  std::string smooth;
  switch (options.smoothing) {
    case BleuSmoothing::none: smooth = "none"; break;
    case BleuSmoothing::floor: smooth = fmt::format("floor[{:.2f}]", smoothing_value(options)); break;
    case BleuSmoothing::add_k: smooth = fmt::format("add-k[{:.2f}]", smoothing_value(options)); break;
    case BleuSmoothing::exponential: smooth = "exp"; break;
  }
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}", references, options.lowercase ? "lc" : "mixed",
                     options.effective_order ? "yes" : "no", name_of(options.tokenizer), smooth);
}

}  // namespace qkv
