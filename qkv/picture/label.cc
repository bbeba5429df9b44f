#include "qkv/picture/label.h"

#include <fmt/format.h>

#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr char32_t ellipsis = 0x2026, open_box = 0x2423;

bool in(char32_t c, char32_t first, char32_t last) { return first <= c && c <= last; }

// Combining characters and joiners: no width, never first.
bool joins(char32_t c) {
  return in(c, 0x300, 0x36f) || in(c, 0x591, 0x5bd) || in(c, 0x64b, 0x65f) || in(c, 0x200b, 0x200d) ||
         in(c, 0x20d0, 0x20ff) || in(c, 0xfe00, 0xfe0f) || in(c, 0x1f3fb, 0x1f3ff) || in(c, 0xe0020, 0xe007f);
}

// Chinese, Japanese, Korean and emoji: full width.
bool wide(char32_t c) {
  return in(c, 0x1100, 0x115f) || in(c, 0x2e80, 0x303e) || in(c, 0x3041, 0xa4cf) || in(c, 0xac00, 0xd7a3) ||
         in(c, 0xf900, 0xfaff) || in(c, 0xff00, 0xff60) || in(c, 0x1f000, 0x1faff) || in(c, 0x20000, 0x3fffd);
}

bool changes_direction(char32_t c) {
  return in(c, 0x200e, 0x200f) || in(c, 0x202a, 0x202e) || in(c, 0x2066, 0x2069);
}

// What has no glyph as C++ and Python write it: many fonts have none for the symbols of control characters (U+2400 ...) either.
std::string escape_of(char32_t c) {
  switch (c) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  if (c < 0x20 || in(c, 0x7f, 0x9f)) return fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
  if (in(c, 0x2028, 0x2029) || changes_direction(c)) return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  if ((c & 0xfffe) == 0xfffe) return utf8_encode(std::u32string(1, 0xfffd));  // not a character; XML refuses it
  return "";
}

// In em, of a sans-serif font, by groups of letters.
double width_of(char32_t c) {
  if (joins(c)) return 0;
  if (wide(c)) return 1.05;
  if (c == 0x2581) return 0.8;  // the mark of SentencePiece for a space
  if (c < 0x80) {
    const std::string_view narrow = "iljIt.,:;!|'f()[]{} r", broad = "mwMW@%";
    if (narrow.find(static_cast<char>(c)) != narrow.npos) return 0.34;
    if (broad.find(static_cast<char>(c)) != broad.npos) return 0.9;
    if (in(c, 'A', 'Z')) return 0.68;
  }
  return 0.58;
}

}  // namespace

std::string label_text(std::string_view token) {
  std::u32string points = utf8_decode(token);
  for (size_t i = 0; i < points.size() && points[i] == ' '; ++i) points[i] = open_box;
  for (size_t i = points.size(); i > 0 && points[i - 1] == ' '; --i) points[i - 1] = open_box;
  std::string out;
  for (const char32_t c : points) {
    if (c >= invalid_byte) {
      out += fmt::format("<0x{:02X}>", static_cast<uint32_t>(c - invalid_byte));
    } else if (const std::string escape = escape_of(c); !escape.empty()) {
      out += escape;
    } else {
      out += utf8_encode(std::u32string(1, c));
    }
  }
  return out;
}

std::vector<TerminalCharacter> terminal_characters(std::string_view label) {
  std::vector<TerminalCharacter> out;
  for (const char32_t c : utf8_decode(label)) {
    const std::string text = utf8_encode(std::u32string(1, c));
    if (joins(c) && !out.empty()) {
      out.back().text += text;
    } else {
      out.push_back({text, wide(c) ? 2 : 1});
    }
  }
  return out;
}

double label_width(std::string_view label) {
  double width = 0;
  for (const char32_t c : utf8_decode(label)) width += width_of(c);
  return width;
}

std::string shortened(std::string_view label, double longest_em) {
  if (label_width(label) <= longest_em) return std::string(label);
  const std::u32string points = utf8_decode(label);
  double width = width_of(ellipsis);
  size_t keep = 0;
  for (size_t i = 0; i < points.size(); ++i) {  // `keep` stays between graphemes
    if (i > 0 && !joins(points[i]) && points[i - 1] != 0x200d) keep = i;
    width += width_of(points[i]);
    if (width > longest_em) break;
  }
  return utf8_encode(points.substr(0, keep) + ellipsis);
}

std::string xml_escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace qkv
