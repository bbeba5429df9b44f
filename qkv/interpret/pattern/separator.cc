#include "qkv/interpret/pattern/separator.h"

#include <algorithm>
#include <vector>

#include "qkv/interpret/mean_weight.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv::pattern {
namespace {

// Without the marks that vocabularies have for a space before a token or the inside of a word.
std::string_view without_marks(std::string_view token) {
  for (const std::string_view mark : {"\xe2\x96\x81", "\xc4\xa0", "##"})  // U+2581 and U+0120
    if (token.size() > mark.size() && token.starts_with(mark)) token.remove_prefix(mark.size());
  return token;
}

}  // namespace

bool is_separator(std::string_view token) {
  const std::string_view text = without_marks(token);
  const bool is_special = text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                                              (text.front() == '[' && text.back() == ']'));
  const std::u32string points = utf8_decode(text);
  return is_special || (!points.empty() && std::all_of(points.begin(), points.end(), is_punctuation));
}

std::optional<double> separator(const HeadWeights& head) {
  std::vector<int64_t> separators;
  for (size_t s = 1; s < head.keys.size(); ++s)
    if (is_separator(head.keys[s])) separators.push_back(static_cast<int64_t>(s));
  MeanWeight mean;
  for (int64_t t = 0; !separators.empty() && t < head.queries(); ++t) {
    double weight = 0;
    for (const int64_t s : separators) weight += head.at(t, s);
    mean.add(weight);
  }
  return mean.value();
}

}  // namespace qkv::pattern
