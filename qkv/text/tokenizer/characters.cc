#include "qkv/text/tokenizer/characters.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utf8proc.h>

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

}  // namespace

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_word_character(char32_t c) {
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
  const bool composes = form == NormalizationForm::nfc || form == NormalizationForm::nfkc;
  const bool compatible = form == NormalizationForm::nfkc || form == NormalizationForm::nfkd;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compatible ? UTF8PROC_COMPAT : 0));
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &result, options);
  require(size >= 0, "tokenizer", "a text cannot be normalised: {}", utf8proc_errmsg(size));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(result, std::free);
  return {reinterpret_cast<const char*>(result), static_cast<size_t>(size)};
}

bool has_normal_form(char32_t c) { return !is_in(normalized_since_unicode_9, c); }

bool begins_normalization(char32_t c) {
  if (c < 0x300) return true;
  const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  return property->combining_class == 0 && !is_mark(c) && !(c >= 0x1160 && c <= 0x11ff);
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
