#include "qkv/metric/tokenize.h"

#include <array>

#include "qkv/base/error.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

constexpr std::array names = {std::string_view("13a"), std::string_view("intl"), std::string_view("char"),
                              std::string_view("none")};

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_point_or_comma(char32_t c) { return c == U'.' || c == U','; }

// ASCII punctuation but ' , - . which need a look at their neighbours.
bool is_western_mark(char32_t c) {
  return (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') || c == U'/' || (c >= U':' && c <= U'@') ||
         (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string out;
  for (;;) {
    const size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

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

std::u32string wmt13a(std::u32string_view line) {
  std::u32string text = replace_all(line, U"<skipped>", U"");
  text = replace_all(text, U"-\n", U"");
  text = replace_all(text, U"\n", U" ");
  text = replace_all(text, U"&quot;", U"\"");
  text = replace_all(text, U"&amp;", U"&");
  text = replace_all(text, U"&lt;", U"<");
  text = replace_all(text, U"&gt;", U">");
  text = U' ' + text + U' ';
  const auto no_digit = [](char32_t c) { return !is_digit(c); };
  const auto is_dash = [](char32_t c) { return c == U'-'; };
  text = isolate(text, is_western_mark);
  text = isolate_in_pairs(text, no_digit, is_point_or_comma, Mark::second);
  text = isolate_in_pairs(text, is_point_or_comma, no_digit, Mark::first);
  return isolate_in_pairs(text, is_digit, is_dash, Mark::second);
}

std::u32string international(std::u32string_view line) {
  const auto no_number = [](char32_t c) { return !is_number(c); };
  std::u32string text = isolate_in_pairs(line, no_number, is_punctuation, Mark::second);
  text = isolate_in_pairs(text, is_punctuation, no_number, Mark::first);
  return isolate(text, is_symbol);
}

// Spaces where words are to end; more of them than needed.
std::u32string separate(std::u32string_view line, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::wmt13a: return wmt13a(line);
    case BleuTokenizer::international: return international(line);
    case BleuTokenizer::character: return isolate(line, [](char32_t) { return true; });
    case BleuTokenizer::none: break;
  }
  return std::u32string(line);
}

}  // namespace

std::string_view name_of(BleuTokenizer tokenizer) { return names[static_cast<size_t>(tokenizer)]; }

BleuTokenizer bleu_tokenizer_by_name(std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<BleuTokenizer>(i);
  fail<UsageError>("bleu", "unknown tokenizer '{}': expected 13a, intl, char or none", name);
}

std::u32string tokenize(std::u32string_view line, BleuTokenizer tokenizer) {
  const std::u32string text = separate(line, tokenizer);
  std::u32string joined;
  for (const std::u32string_view word : words(text)) {
    if (!joined.empty()) joined += U' ';
    joined += word;
  }
  return joined;
}

std::string tokenize(std::string_view line, BleuTokenizer tokenizer) {
  return utf8_encode(tokenize(utf8_decode(line), tokenizer));
}

}  // namespace qkv
