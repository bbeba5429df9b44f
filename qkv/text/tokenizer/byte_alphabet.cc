#include "qkv/text/tokenizer/byte_alphabet.h"

#include <array>
#include <map>

#include "qkv/text/utf8.h"

namespace qkv {
namespace {

struct Alphabet {
  std::array<std::string, 256> characters;
  std::map<char32_t, char> bytes;

  Alphabet() {
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      const char32_t character = printable ? byte : next++;
      characters[byte] = utf8_encode(std::u32string(1, character));
      bytes[character] = static_cast<char>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet all;
  return all;
}

}  // namespace

const std::string& character_of_byte(unsigned char byte) { return alphabet().characters[byte]; }

std::string byte_level(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += character_of_byte(static_cast<unsigned char>(c));
  return out;
}

std::string bytes_of_byte_level(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = utf8_first(text);
    const size_t size = c.bytes == 0 ? 1 : c.bytes;
    const auto found = alphabet().bytes.find(c.value);
    if (c.bytes > 0 && found != alphabet().bytes.end())
      out += found->second;
    else
      out.append(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

bool is_byte_token(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token.back() == '>';
}

}  // namespace qkv
