#include "qkv/text/tokenizer/added_tokens.h"

#include "qkv/text/tokenizer/characters.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

char32_t last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
  return utf8_first(text.substr(begin)).value;
}

size_t without_white_space_at_end(std::string_view text) {
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (!is_white_space(utf8_first(text.substr(begin)).value)) break;
    text = text.substr(0, begin);
  }
  return text.size();
}

size_t white_space_at_start(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && is_white_space(utf8_first(text.substr(size)).value))
    size += utf8_first(text.substr(size)).bytes;
  return size;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& contents)
    : tokens_(std::move(tokens)), tree_(contents) {}

void AddedTokens::for_each(std::string_view text, const std::function<bool(const AddedToken&)>& special,
                           const std::function<void(TextRange, int32_t)>& function) const {
  size_t begin = 0;  // of what was not given yet
  const auto give = [&](size_t end, int32_t id) {
    if (end > begin || id >= 0) function({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, id);
    begin = end;
  };
  for (size_t at = 0; at < text.size();) {
    int32_t found = -1;
    size_t size = 0;
    tree_.for_each_prefix(text.substr(at), [&](int32_t index, size_t bytes) { found = index, size = bytes; });
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(found)];
    size_t first = at, last = at + size;
    at = last;
    if (token.special && !special(token)) continue;
    if (token.single_word && ((first > 0 && is_word_character(last_character(text.substr(0, first)))) ||
                              (last < text.size() && is_word_character(utf8_first(text.substr(last)).value))))
      continue;
    if (token.strips_left) first = std::max(without_white_space_at_end(text.substr(0, first)), begin);
    if (token.strips_right) last += white_space_at_start(text.substr(last));
    if (first < begin) continue;  // white space behind the one before swallowed it
    give(first, -1);
    give(last, token.id);
  }
  give(text.size(), -1);
}

}  // namespace qkv
