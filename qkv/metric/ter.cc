#include "qkv/metric/ter.h"

#include <limits>

#include <fmt/format.h>

#include "qkv/metric/edits.h"
#include "qkv/metric/marks.h"
#include "qkv/metric/ngrams.h"
#include "qkv/metric/references.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

std::u32string normalize(std::u32string_view line) {
  using namespace metric;
  const std::u32string joined = replace_all(replace_all(line, U"\n-", U""), U"\n", U" ");
  const std::u32string marked = isolate(U' ' + unescape(joined) + U' ', is_western_mark);
  return isolate_near_digits(replace_all(marked, U"'s ", U" 's "));
}

std::u32string symbols(std::string_view line, const TerOptions& options, metric::Words& numbers) {
  std::u32string text = utf8_decode(line);
  while (!text.empty() && is_space(text.back())) text.pop_back();
  if (!options.case_sensitive) text = lowercase(text);
  if (options.normalized) text = normalize(text);
  if (options.no_punctuation)
    std::erase_if(
        text, [](char32_t c) { return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string_view::npos; });
  std::u32string out;
  for (const std::u32string_view word : words(text)) out.push_back(numbers.number(word));
  return out;
}

metric::Statistics statistics(std::span<const std::string> hypotheses, const metric::References& references,
                              const TerOptions& options) {
  metric::Statistics rows;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    metric::Words numbers;
    const std::u32string hypothesis = symbols(hypotheses[i], options, numbers);
    const auto lines = references.of(i);
    auto fewest = std::numeric_limits<int64_t>::max();
    double lengths = 0;
    for (const std::string_view line : lines) {
      const std::u32string reference = symbols(line, options, numbers);
      fewest = std::min(fewest, metric::edits(hypothesis, reference));
      lengths += static_cast<double>(reference.size());
    }
    rows.push_back({static_cast<double>(fewest), lengths / static_cast<double>(lines.size())});
  }
  return rows;
}

}  // namespace

metric::Statistics ter_statistics(std::span<const std::string> hypotheses,
                                  std::span<const std::vector<std::string>> reference_streams,
                                  const TerOptions& options) {
  return statistics(hypotheses, metric::References("ter", hypotheses.size(), reference_streams), options);
}

TerScore ter_of(std::span<const double> sums) {
  TerScore score{.edits = static_cast<int64_t>(sums[0]), .reference_length = sums[1]};
  const bool perfect = score.edits == 0;
  score.score = score.reference_length > 0 ? 100.0 * (static_cast<double>(score.edits) / score.reference_length)
                                           : (perfect ? 0.0 : 100.0);
  return score;
}

TerScore ter(std::span<const std::string> hypotheses, std::span<const std::string> references,
             const TerOptions& options) {
  return ter_of(
      metric::sum(statistics(hypotheses, metric::References("ter", hypotheses.size(), references), options)));
}

TerScore ter(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
             const TerOptions& options) {
  return ter_of(metric::sum(ter_statistics(hypotheses, reference_streams, options)));
}

TerScore sentence_ter(const std::string& hypothesis, const std::vector<std::string>& references,
                      const TerOptions& options) {
  return ter({&hypothesis, 1}, metric::streams_of(references), options);
}

std::string TerScore::to_string() const { return fmt::format("TER = {:.2f}", score); }

std::string signature(const TerOptions& options, int references) {
  return fmt::format("nrefs:{}|case:{}|tok:tercom|norm:{}|punct:{}|asian:no", references,
                     options.case_sensitive ? "mixed" : "lc", options.normalized ? "yes" : "no",
                     options.no_punctuation ? "no" : "yes");
}

}  // namespace qkv
