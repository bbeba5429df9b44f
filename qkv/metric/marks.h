// Steps that the tokenizers of BLEU and TER have in common: spaces around marks. They do what the regular
// expressions of NIST's mteval scripts do.
#pragma once

#include <string>
#include <string_view>

namespace qkv::metric {

inline bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
// ASCII punctuation but ' , - . which need a look at their neighbours.
bool is_western_mark(char32_t c);

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to);
std::u32string unescape(std::u32string_view text);  // &quot; &amp; &lt; &gt;

// Spaces around every character that the predicate holds for.
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

// Looks for pairs of neighbours from left to right. As with a regular expression's global substitution, the
// characters of a pair found are used up: a run of marks is taken two by two. The mark of the pair gets spaces
// around it.
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

// Points and commas but those between digits, and dashes behind a digit.
std::u32string isolate_near_digits(std::u32string_view text);

}  // namespace qkv::metric
