#include "qkv/metric/tokenize.h"

#include "qkv/metric/marks.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

using namespace metric;

std::u32string wmt13a(std::u32string_view line) {
  std::u32string text = replace_all(line, U"<skipped>", U"");
  text = replace_all(text, U"-\n", U"");
  text = replace_all(text, U"\n", U" ");
  text = U' ' + unescape(text) + U' ';
  return isolate_near_digits(isolate(text, is_western_mark));
}

std::u32string international(std::u32string_view line) {
  const auto no_number = [](char32_t c) { return !is_number(c); };
  std::u32string text = isolate_in_pairs(line, no_number, is_punctuation, Mark::second);
  text = isolate_in_pairs(text, is_punctuation, no_number, Mark::first);
  return isolate(text, is_symbol);
}

// The line with spaces between words, possibly repeated.
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
