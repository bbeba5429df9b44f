// The character map of SentencePiece's normalisation, as its model files and tokenizer.json hold it: a double-array
// trie of sequences of bytes, with the text that replaces each.
//
//     const PrecompiledMap map(bytes, "tokenizer.json");      // size of the trie (u32), units, strings ending in NUL
//     map.find("\xef\xbc\xa1bc")                              // "A", by the shortest entry that begins the text
//
// Errors: InputError for a map whose sizes or links point outside it, and for texts that are not UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

class PrecompiledMap {
 public:
  PrecompiledMap(std::string_view bytes, const std::string& where);

  std::optional<std::string_view> find(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string strings_;
};

}  // namespace qkv
