#include "qkv/text/encoding_hint.h"

#include <algorithm>

#include "qkv/base/names.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// The characters of 0x80 to 0x9f; 0: none.
constexpr char32_t upper_controls[] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                       0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                       0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                       0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }

char32_t character_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 && byte < 0xa0 ? upper_controls[byte - 0x80] : byte;
}

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_high_letter(char c) {
  if (!is_high(c)) return false;
  const char32_t letter = character_of(c);
  constexpr std::u32string_view others = U"\u0160\u0161\u0152\u0153\u017d\u017e";
  // 0xff is a letter too, but in a file it is far more often not text.
  return (letter >= 0xc0 && letter < 0xff && letter != 0xd7 && letter != 0xf7) ||
         others.find(letter) != others.npos;
}

bool is_vowel(char c) {
  constexpr std::u32string_view consonants =
      U"\u00c7\u00e7\u00d0\u00f0\u00d1\u00f1\u00de\u00fe\u00df\u0160\u0161\u017d\u017e";
  return is_high_letter(c) && consonants.find(character_of(c)) == consonants.npos;
}

// Punctuation and signs that are common in text.
bool is_sign(char c) {
  constexpr std::u32string_view signs =
      U"\u00a0\u00a1\u00a3\u00a7\u00a9\u00aa\u00ab\u00ad\u00ae\u00b0\u00b2\u00b7\u00ba\u00bb\u00bf\u00d7"
      U"\u20ac\u201a\u201e\u2026\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u2122\u2039\u203a";
  return signs.find(character_of(c)) != signs.npos;
}

// One or two of them in a row, beside an ASCII letter; or a word of one vowel. Other alphabets have whole words of them.
bool reads_well(std::string_view line) {
  constexpr size_t max_run = 2;
  for (size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (!is_high_letter(c)) {
      const bool is_control = static_cast<unsigned char>(c) < ' ' && c != '\t';
      if (is_control || (is_high(c) && !is_sign(c))) return false;
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < line.size() && is_high_letter(line[end])) ++end;
    const bool beside_letter =
        (i > 0 && is_ascii_letter(line[i - 1])) || (end < line.size() && is_ascii_letter(line[end]));
    if (end - i > max_run || (!beside_letter && (end - i > 1 || !is_vowel(c)))) return false;
    i = end;
  }
  return true;
}

bool has_utf8(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i)
    if (is_high(line[i]) && utf8_first(line.substr(i)).bytes > 1) return true;
  return false;
}

// The first one that is not ASCII.
std::string word_of(std::string_view line) {
  const auto in_word = [&](size_t i) { return is_ascii_letter(line[i]) || is_high(line[i]); };
  size_t begin = 0;
  while (!is_high(line[begin])) ++begin;
  size_t end = begin;
  while (begin > 0 && in_word(begin - 1)) --begin;
  while (end < line.size() && in_word(end)) ++end;
  std::u32string word;
  for (const char c : line.substr(begin, end - begin)) word += character_of(c);
  return utf8_encode(word);
}

}  // namespace

std::string encoding_hint(std::string_view line) {
  if (std::none_of(line.begin(), line.end(), is_high) || has_utf8(line) || !reads_well(line)) return "";
  return fmt::format("; as Windows-1252 it reads {}: iconv -f WINDOWS-1252 -t UTF-8 FILE > TEXT",
                     quoted_name(word_of(line)));
}

}  // namespace qkv
