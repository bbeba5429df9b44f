// Tokens that were added to the vocabulary of a tokenizer, including special ones: text is cut at them before the model
// sees it.
//
//     const AddedTokens added(list);
//     added.for_each(text, all, [](TextRange range, int32_t id) { ... });                   // id -1: text between them
//
// The leftmost longest one is found, in time that is linear in the text. Tokens with `normalized` are searched in the
// normalised text, the others in the original one.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "qkv/text/tokenizer/aligned_text.h"
#include "qkv/text/tokenizer/string_finder.h"

namespace qkv {

struct AddedToken {
  int32_t id = 0;
  std::string content = {};
  bool single_word = false;                        // not inside of a word
  bool strips_left = false, strips_right = false;  // white space on that side belongs to it
  bool normalized = false, special = false;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);
  // contents: the texts to search for, normalised if the token is.
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& contents);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool empty() const { return tokens_.empty(); }
  // A special token that begins at a byte of the text is found only if `special` says so.
  void for_each(std::string_view text, const std::function<bool(const AddedToken&, size_t at)>& special,
                const std::function<void(TextRange range, int32_t id)>& function) const;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<size_t> sizes_;  // of the contents
  StringFinder finder_;
};

}  // namespace qkv
