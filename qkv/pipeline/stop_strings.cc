#include "qkv/pipeline/stop_strings.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {

StopStrings::StopStrings(const std::vector<std::string>& stops) {
  for (size_t i = 0; i < stops.size(); ++i) {
    require<UsageError>(!stops[i].empty(), "stop_strings", "stop string {} is empty", i);
    require<UsageError>(!utf8_error(stops[i]), "stop_strings", "stop string {} is not valid UTF-8", i);
    Pattern pattern{stops[i], {0, 0}};
    for (size_t n = 1; n < stops[i].size(); ++n) {
      size_t border = pattern.border[n];
      while (border > 0 && stops[i][border] != stops[i][n]) border = pattern.border[border];
      pattern.border.push_back(border + (stops[i][border] == stops[i][n]));
    }
    patterns_.push_back(std::move(pattern));
  }
}

// The search ends at the first match, so `matched` is below the size of the stop string before.
void StopStrings::advance(Pattern& pattern, char byte) {
  size_t& matched = pattern.matched;
  while (matched > 0 && pattern.stop[matched] != byte) matched = pattern.border[matched];
  matched += pattern.stop[matched] == byte;
}

std::string_view StopStrings::print_to(size_t end) {
  const size_t begin = printed_;
  printed_ = std::max(begin, end);
  return std::string_view(text_).substr(begin, printed_ - begin);
}

std::string_view StopStrings::append(std::string_view piece) {
  require(!found_ && !finished_, "stop_strings", "the text has ended");
  for (const char byte : piece) {
    text_ += byte;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      advance(patterns_[i], byte);
      const bool complete = patterns_[i].matched == patterns_[i].stop.size();
      if (complete && (!found_ || patterns_[i].matched > patterns_[*found_].matched)) found_ = i;
    }
    if (!found_) continue;
    text_.resize(text_.size() - patterns_[*found_].matched);
    return print_to(text_.size());
  }
  size_t held = 0;
  for (const Pattern& pattern : patterns_) held = std::max(held, pattern.matched);
  return print_to(utf8_complete(std::string_view(text_).substr(0, text_.size() - held)));
}

std::string_view StopStrings::finish() {
  finished_ = true;
  return print_to(text_.size());
}

}  // namespace qkv
