#include "qkv/text/utf8.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "qkv/base/error.h"

namespace qkv {

namespace {

// The length of the run of ASCII that text begins with, eight bytes at a time: most of what is read is ASCII.
size_t ascii_run(std::string_view text) {
  size_t n = 0;
  for (; n + 8 <= text.size(); n += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + n, 8);
    if (word & 0x8080808080808080u) break;
  }
  while (n < text.size() && static_cast<unsigned char>(text[n]) < 0x80) ++n;
  return n;
}

}  // namespace

CodePoint utf8_first(std::string_view text) {
  if (text.empty()) return {0, 0};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return {0, 0};
  // The second byte alone decides about overlong forms, surrogates and values above U+10FFFF.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return {0, 0};
  char32_t value = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    value = (value << 6) | (byte(i) & 0x3f);
  }
  return {bytes, value};
}

std::optional<size_t> utf8_error(std::string_view text) {
  size_t at = 0;
  for (;;) {
    at += ascii_run(text.substr(at));
    if (at == text.size()) return {};
    const size_t bytes = utf8_first(text.substr(at)).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
}

void check_utf8(std::string_view text) {
  if (const auto at = utf8_error(text)) fail<InputError>("text", "invalid UTF-8 at byte {}", *at + 1);
}

size_t utf8_complete(std::string_view text) {
  for (size_t part = 1; part <= 3 && part <= text.size(); ++part) {
    std::string character(text.substr(text.size() - part));
    const auto lead = static_cast<unsigned char>(character[0]);
    if (lead < 0x80) break;
    if (lead < 0xc2) continue;  // a continuation byte: look for the lead byte
    // Most sequences are completed by 0x80; after 0xe0 and 0xf0 the second byte is larger.
    character.append(part == 1 && (lead == 0xe0 || lead == 0xf0) ? "\xa0" : "\x80");
    const size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    character.append(bytes - std::min(bytes, part + 1), '\x80');
    return utf8_first(character).bytes > part ? text.size() - part : text.size();
  }
  return text.size();
}

int64_t utf8_length(std::string_view text) {
  int64_t points = 0;
  while (!text.empty()) {
    const size_t bytes = utf8_first(text).bytes;
    text.remove_prefix(bytes == 0 ? 1 : bytes);
    ++points;
  }
  return points;
}

std::u32string utf8_decode(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  while (!text.empty()) {
    const auto [bytes, value] = utf8_first(text);
    points.push_back(bytes == 0 ? invalid_byte + static_cast<unsigned char>(text[0]) : value);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return points;
}

std::string utf8_encode(std::u32string_view points) {
  std::string text;
  text.reserve(points.size());
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  for (const char32_t point : points) {
    if (point < 0x80) {
      put(point);
    } else if (point < 0x800) {
      put(0xc0 | (point >> 6));
      put(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
      put(0xe0 | (point >> 12));
      put(0x80 | ((point >> 6) & 0x3f));
      put(0x80 | (point & 0x3f));
    } else if (point < invalid_byte) {
      put(0xf0 | (point >> 18));
      put(0x80 | ((point >> 12) & 0x3f));
      put(0x80 | ((point >> 6) & 0x3f));
      put(0x80 | (point & 0x3f));
    } else {
      put(point - invalid_byte);
    }
  }
  return text;
}

std::string escape_controls(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [bytes, value] = utf8_first(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    const bool control = bytes == 0 || value < 0x20 || (value >= 0x7f && value < 0xa0);
    if (control && keep.find(character) == keep.npos) {
      for (const char byte : character) out += fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte));
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace qkv
