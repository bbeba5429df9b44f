// Common steps of the tokenizers of BLEU and TER: spaces around punctuation, equivalent to the regular expressions
// of NIST's mteval scripts.
#pragma once

#include <string>
#include <string_view>

namespace qkv::metric {

inline bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
// ASCII punctuation except ' , - . which depend on their neighbors.
bool is_western_mark(char32_t c);

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to);
std::u32string unescape(std::u32string_view text);  // &quot; &amp; &lt; &gt;

// Puts spaces around every character that the predicate holds for.
template <class Predicate>
std::u32string isolate(std::u32string_view text, Predicate holds) {
  std::u32string out;
  for (const char32_t c : text) {
    if (holds(c)) {
      (out += U' ').push_back(c);
      out += U' ';
    } else {
      out += c;
    }
  }
  return out;
}

// Finds adjacent characters that match, from left to right and without overlap, as a global substitution by a
// regular expression does, and puts spaces around the first or second of the two.
enum class Mark { first, second };
template <class First, class Second>
std::u32string isolate_in_pairs(std::u32string_view text, First first, Second second, Mark mark) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      out += text[i];
      continue;
    }
    if (mark == Mark::first) out += U' ';
    (out += text[i]) += U' ';
    out += text[++i];
    if (mark == Mark::second) out += U' ';
  }
  return out;
}

// Dots and commas except between digits, and dashes after a digit.
std::u32string isolate_near_digits(std::u32string_view text);

}  // namespace qkv::metric
