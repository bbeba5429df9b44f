#include "qkv/metric/chrf.h"

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/metric/ngrams.h"
#include "qkv/metric/references.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

struct Order {  // n-grams of one order
  int64_t hypothesis = 0, reference = 0, match = 0;
};
using Orders = std::vector<Order>;  // characters 1, 2, ..., then words 1, 2, ...

bool is_ascii_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') ||
         (c >= U'{' && c <= U'~');
}

// Words, with one mark of punctuation split off their end or, if there is none, off their beginning.
std::vector<std::u32string_view> words_and_marks(std::u32string_view text) {
  std::vector<std::u32string_view> out;
  for (const std::u32string_view word : words(text)) {
    const size_t cut = word.size() == 1                     ? 0
                       : is_ascii_punctuation(word.back())  ? word.size() - 1
                       : is_ascii_punctuation(word.front()) ? 1
                                                            : 0;
    if (cut > 0) out.push_back(word.substr(0, cut));
    out.push_back(word.substr(cut));
  }
  return out;
}

// The two sequences of a line whose n-grams are counted.
struct Symbols {
  std::u32string characters, words;
};

Symbols symbols(std::string_view line, const ChrfOptions& options, metric::Words& numbers) {
  std::u32string text = utf8_decode(line);
  if (options.lowercase) text = lowercase(text);
  Symbols out;
  if (options.word_order > 0)
    for (const std::u32string_view word : words_and_marks(text)) out.words.push_back(numbers.number(word));
  if (options.whitespace) {
    out.characters = std::move(text);
  } else {
    for (const std::u32string_view word : words(text)) out.characters += word;
  }
  return out;
}

Order compare(std::u32string_view hypothesis_symbols, std::u32string_view reference_symbols, int n) {
  const metric::NgramCounts hypothesis = metric::count_ngrams(hypothesis_symbols, n),
                            reference = metric::count_ngrams(reference_symbols, n);
  // As in sacreBLEU, an order that the reference is too short for does not count for the hypothesis either.
  return {reference.empty() ? 0 : metric::total(hypothesis), metric::total(reference),
          metric::matches(hypothesis, reference)};
}

Orders compare(const Symbols& hypothesis, const Symbols& reference, const ChrfOptions& options) {
  Orders orders;
  for (int n = 1; n <= options.character_order; ++n)
    orders.push_back(compare(hypothesis.characters, reference.characters, n));
  for (int n = 1; n <= options.word_order; ++n) orders.push_back(compare(hypothesis.words, reference.words, n));
  return orders;
}

double f_score(double precision, double recall, double beta) {
  const double weight = beta * beta, below = weight * precision + recall;
  return below > 0 ? (1 + weight) * precision * recall / below : 0.0;
}

double f_score(const Orders& orders, const ChrfOptions& options) {
  constexpr double eps = 1e-16;
  double precisions = 0, recalls = 0, scores = 0;
  int used = 0;
  for (const auto [hypothesis, reference, match] : orders) {
    const double precision = hypothesis > 0 ? static_cast<double>(match) / static_cast<double>(hypothesis) : eps;
    const double recall = reference > 0 ? static_cast<double>(match) / static_cast<double>(reference) : eps;
    scores += f_score(precision, recall, options.beta);
    if (hypothesis == 0 || reference == 0) continue;
    precisions += precision;
    recalls += recall;
    ++used;
  }
  if (options.eps_smoothing) return 100.0 * scores / static_cast<double>(orders.size());
  return used == 0 ? 0.0 : 100.0 * f_score(precisions / used, recalls / used, options.beta);
}

metric::Statistics statistics(std::span<const std::string> hypotheses, const metric::References& references,
                              const ChrfOptions& options) {
  require<UsageError>(options.character_order >= 0 && options.word_order >= 0 &&
                          options.character_order + options.word_order >= 1 && options.beta > 0,
                      "chrf",
                      "character_order {}, word_order {}, beta {}: expected orders of at least 0, not both 0, "
                      "and a positive beta",
                      options.character_order, options.word_order, options.beta);
  metric::Statistics rows;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    metric::Words numbers;
    const Symbols hypothesis = symbols(hypotheses[i], options, numbers);
    Orders best;
    for (const std::string_view reference : references.of(i)) {
      Orders orders = compare(hypothesis, symbols(reference, options, numbers), options);
      if (best.empty() || f_score(orders, options) > f_score(best, options)) best = std::move(orders);
    }
    std::vector<double>& row = rows.emplace_back();
    for (const Order& order : best)
      for (const int64_t count : {order.hypothesis, order.reference, order.match})
        row.push_back(static_cast<double>(count));
  }
  return rows;
}

}  // namespace

metric::Statistics chrf_statistics(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> reference_streams,
                                   const ChrfOptions& options) {
  return statistics(hypotheses, metric::References("chrf", hypotheses.size(), reference_streams), options);
}

ChrfScore chrf_of(std::span<const double> sums, const ChrfOptions& options) {
  Orders orders;
  for (size_t i = 0; i + 3 <= sums.size(); i += 3)
    orders.push_back(
        {static_cast<int64_t>(sums[i]), static_cast<int64_t>(sums[i + 1]), static_cast<int64_t>(sums[i + 2])});
  return {f_score(orders, options), options.beta, options.word_order};
}

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options) {
  const metric::References checked("chrf", hypotheses.size(), references);
  return chrf_of(metric::sum(statistics(hypotheses, checked, options)), options);
}

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
               const ChrfOptions& options) {
  return chrf_of(metric::sum(chrf_statistics(hypotheses, reference_streams, options)), options);
}

ChrfScore sentence_chrf(const std::string& hypothesis, const std::vector<std::string>& references,
                        const ChrfOptions& options) {
  return chrf({&hypothesis, 1}, metric::streams_of(references), options);
}

std::string ChrfScore::name() const {
  return fmt::format("chrF{:g}{}", beta, std::string(static_cast<size_t>(word_order), '+'));
}

std::string ChrfScore::to_string() const { return fmt::format("{} = {:.2f}", name(), score); }

std::string signature(const ChrfOptions& options, int references) {
  return fmt::format("nrefs:{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}", references, options.lowercase ? "lc" : "mixed",
                     options.eps_smoothing ? "no" : "yes", options.character_order, options.word_order,
                     options.whitespace ? "yes" : "no");
}

}  // namespace qkv
