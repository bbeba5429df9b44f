// A tokenizer of Hugging Face from its tokenizer.json: normalisation, pre-tokenisation, a model, the tokens added
// around a text, and how tokens become text again.
//
//     const JsonTokenizer tokenizer = JsonTokenizer::load("llama/tokenizer.json");
//     JsonTokenizer::Encoding e = tokenizer.encode("Hello you");  // ids, the bytes of the text that each covers, types
//     std::string text = tokenizer.decode(e.ids);                 // without special tokens
//
// Text that looks like a special token stays text, unless options.special_in_text. Bytes that are not UTF-8 become
// U+FFFD first; ranges refer to the text after that. Truncation and padding in the file are ignored: both are left to
// the caller.
//
// Reading is linear in the file, encoding linear in the text except for the merges of a piece, n log n. Immutable, and
// may be used by several threads at once. Errors: InputError, naming the file and the part of it, if it is not a
// tokenizer.json, for unknown types, and for ids and merges outside the vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/text/tokenizer/added_tokens.h"

namespace qkv {

class JsonTokenizer {
 public:
  struct Options {
    bool add_special = true;                         // the tokens that the file puts around a text
    bool special_in_text = false;                    // "</s>" in a text is that token
    int32_t special_token_in_text = -1;              // this one is, such as a mask
    std::function<bool(size_t at)> special_at = {};  // of special_in_text, those at which bytes; none: all
  };
  struct Encoding {
    std::vector<int32_t> ids, types;
    std::vector<TextRange> ranges;  // of the text, of the second text for its tokens; empty ones of added tokens
  };

  static JsonTokenizer load(const std::filesystem::path& path);
  static JsonTokenizer parse(std::string_view json, const std::string& name);

  Encoding encode(std::string_view text) const { return encode(text, Options()); }
  Encoding encode(std::string_view text, const Options& options) const;
  Encoding encode(std::string_view first, std::string_view second, const Options& options) const;
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  // "" for an id without a token.
  const std::string& token(int32_t id) const;
  std::optional<int32_t> id_of(std::string_view token) const;
  bool is_added(int32_t id) const;  // one of 'added_tokens'
  bool is_special(int32_t id) const;
  bool is_byte_level() const;  // tokens are bytes in the alphabet of byte_alphabet.h
  int64_t size() const;        // the largest id, and one more
  // The tokens added around a text.
  std::vector<int32_t> before() const, after() const;

 private:
  struct Parts;
  explicit JsonTokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace qkv
