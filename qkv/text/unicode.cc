#include "qkv/text/unicode.h"

#include <algorithm>
#include <iterator>

#include "qkv/text/unicode_tables.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

// The last entry that begins at or before the code point, or null.
template <class Entry>
const Entry* find(std::span<const Entry> table, char32_t point) {
  const auto after =
      std::upper_bound(table.begin(), table.end(), point, [](char32_t p, const Entry& e) { return p < e.first; });
  return after == table.begin() ? nullptr : &*std::prev(after);
}

bool contains(std::span<const unicode::Range> table, char32_t point) {
  const unicode::Range* range = find(table, point);
  return range && point <= range->last;
}

char32_t small(char32_t point) {
  const unicode::Lower* entry = find(unicode::lower, point);
  if (!entry || point > entry->last || (point - entry->first) % entry->step != 0) return point;
  return static_cast<char32_t>(static_cast<int32_t>(point) + entry->shift);
}

bool is_small(char32_t point) {  // the lower case of some letter
  return std::any_of(unicode::lower.begin(), unicode::lower.end(), [&](const unicode::Lower& entry) {
    const int64_t capital = static_cast<int64_t>(point) - entry.shift;
    return capital >= entry.first && capital <= entry.last && (capital - entry.first) % entry.step == 0;
  });
}

bool is_cased(char32_t point) {
  return small(point) != point || is_small(point) || point == 0xdf || point == 0x130;
}

// Characters within a word (approximately Case_Ignorable): apostrophes, full stops, accents.
bool is_case_ignorable(char32_t point) {
  return point == '\'' || point == '.' || point == ':' || point == '^' || point == '`' || point == 0xad ||
         point == 0xb7 || point == 0x2019 || (point >= 0x300 && point <= 0x36f);
}

// Unicode's Final_Sigma: a cased letter before, none after.
bool is_final_sigma(std::u32string_view text, size_t at) {
  size_t before = at, after = at + 1;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return before > 0 && is_cased(text[before - 1]) && (after == text.size() || !is_cased(text[after]));
}

}  // namespace

bool is_space(char32_t point) {
  return (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x20) || point == 0x85 || point == 0xa0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
         point == 0x202f || point == 0x205f || point == 0x3000;
}

bool is_punctuation(char32_t point) { return contains(unicode::punctuation, point); }
bool is_number(char32_t point) { return contains(unicode::number, point); }
bool is_symbol(char32_t point) { return contains(unicode::symbol, point); }

std::u32string lowercase(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 0x130) {
      out += U"i\u0307";
    } else if (text[i] == 0x3a3) {
      out.push_back(is_final_sigma(text, i) ? U'\u03c2' : U'\u03c3');
    } else {
      out.push_back(small(text[i]));
    }
  }
  return out;
}

std::vector<std::u32string_view> words(std::u32string_view text) {
  std::vector<std::u32string_view> out;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_space(text[i])) continue;
    if (i > begin) out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    const auto [bytes, c] = utf8_first(text);
    const bool vanishes = bytes == 0 || is_space(c) || c < 0x20 || (c >= 0x7f && c <= 0xa0) ||
                          (c >= 0x2000 && c <= 0x200f) || c == 0x2581 || c == 0xfeff || c == 0xfffd;
    if (!vanishes) return false;
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return true;
}

}  // namespace qkv
