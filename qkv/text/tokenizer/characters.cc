#include "qkv/text/tokenizer/characters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utf8proc.h>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/text/tokenizer/newer_unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Ascending ranges.
template <size_t N>
bool is_in(const std::pair<char32_t, char32_t> (&ranges)[N], char32_t c) {
  const auto* after = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                       [](char32_t x, const auto& range) { return x < range.first; });
  return after != std::begin(ranges) && c <= std::prev(after)->second;
}

// Circled, squared and other enclosed letters are symbols with the property Alphabetic.
constexpr std::pair<char32_t, char32_t> letters_among_symbols[] = {
    {0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};

utf8proc_option_t decomposition(NormalizationForm form) {
  const bool is_compatible = form == NormalizationForm::nfkc || form == NormalizationForm::nfkd;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                        (is_compatible ? UTF8PROC_COMPAT : 0));
}

struct Decomposition {
  std::array<utf8proc_int32_t, 32> points;  // the longest, of U+FDFA, has 18
  size_t size;
};

Decomposition decomposed(char32_t c, utf8proc_option_t options) {
  Decomposition out{};
  int boundary = 0;
  const utf8proc_ssize_t size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), out.points.data(),
                                                        std::ssize(out.points), options, &boundary);
  require(size > 0 && size <= std::ssize(out.points), "tokenizer", "a text cannot be normalised: {}",
          size < 0 ? utf8proc_errmsg(size) : "a character has too many parts");
  out.size = static_cast<size_t>(size);
  return out;
}

// The canonical order: runs of marks stably sorted by their combining class.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  const auto combining_class = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  const auto is_starter = [&](utf8proc_int32_t c) { return combining_class(c) == 0; };
  for (auto at = points.begin(); at != points.end();) {
    const auto begin = std::find_if_not(at, points.end(), is_starter);
    at = std::find_if(begin, points.end(), is_starter);
    std::stable_sort(begin, at, [&](auto a, auto b) { return combining_class(a) < combining_class(b); });
  }
}

}  // namespace

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_word_character(char32_t c) {
  if (is_in(letters_among_symbols, c) || is_in(word_characters_since_unicode_15, c)) return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return c == 0x200c || c == 0x200d;  // join controls
  }
}

bool is_numeric(char32_t c) {
  const utf8proc_category_t x = category(c);
  return x == UTF8PROC_CATEGORY_ND || x == UTF8PROC_CATEGORY_NL || x == UTF8PROC_CATEGORY_NO;
}

bool is_nonspacing_mark(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_MN && !is_in(nonspacing_marks_since_unicode_8, c);
}

bool is_mark(char32_t c) {
  const utf8proc_category_t x = category(c);
  return x == UTF8PROC_CATEGORY_MN || x == UTF8PROC_CATEGORY_MC || x == UTF8PROC_CATEGORY_ME;
}

bool is_control(char32_t c) {
  if (is_in(control_since_unicode_8, c)) return false;
  const utf8proc_category_t x = category(c);
  return x == UTF8PROC_CATEGORY_CC || x == UTF8PROC_CATEGORY_CF || x == UTF8PROC_CATEGORY_CS ||
         x == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation_or_symbol_of_ascii(char32_t c) {
  if (c < 0x80) return c > 0x20 && c < 0x7f && !(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  if (is_in(punctuation_since_unicode_8, c)) return false;
  if (c == 0x166d || c == 0x111c9) return true;  // punctuation in version 8
  switch (category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return true;
    default: return false;
  }
}

std::string lower_case(char32_t c) {
  if (c == 0x130) return "i\xcc\x87";
  const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return utf8_encode(std::u32string(1, lower));
}

std::string normalized(std::string_view text, NormalizationForm form) {
  const utf8proc_option_t options = decomposition(form);
  std::vector<utf8proc_int32_t> points;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_first(text.substr(at));
    const Decomposition parts = decomposed(c.value, options);
    points.insert(points.end(), parts.points.begin(), parts.points.begin() + static_cast<ptrdiff_t>(parts.size));
    at += std::max<size_t>(c.bytes, 1);
  }
  order_marks(points);
  auto size = std::ssize(points);
  if (form == NormalizationForm::nfc || form == NormalizationForm::nfkc)
    size = utf8proc_normalize_utf32(points.data(), size,
                                    static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  require(size >= 0, "tokenizer", "a text cannot be normalised: {}", utf8proc_errmsg(size));
  return utf8_encode(std::u32string(points.begin(), points.begin() + size));
}

bool has_normal_form(char32_t c) { return !is_in(normalized_since_unicode_9, c); }

bool has_decomposition(char32_t c) {
  const bool is_syllable = c >= 0xac00 && c <= 0xd7a3;  // of Hangul, decomposed by a formula
  return is_syllable || utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->decomp_seqindex != UINT16_MAX;
}

bool begins_normalization(char32_t c, NormalizationForm form) {
  if (c < 0x300) return true;
  const utf8proc_int32_t first =
      has_decomposition(c) ? decomposed(c, decomposition(form)).points[0] : static_cast<utf8proc_int32_t>(c);
  const bool is_vowel_or_final = first >= 0x1160 && first <= 0x11ff;  // of a Hangul syllable
  return utf8proc_get_property(first)->combining_class == 0 && !is_mark(static_cast<char32_t>(first)) &&
         !is_vowel_or_final;
}

size_t first_grapheme(std::string_view text) {
  size_t end = 0;
  utf8proc_int32_t state = 0, previous = 0;
  while (end < text.size()) {
    const CodePoint next = utf8_first(text.substr(end));
    const auto c = static_cast<utf8proc_int32_t>(next.value);
    if (end > 0 && utf8proc_grapheme_break_stateful(previous, c, &state)) return end;
    previous = c;
    end += next.bytes;
  }
  return end;
}

}  // namespace qkv
