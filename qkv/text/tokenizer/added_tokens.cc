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

// The end of the white space around `at`, searched once in each run.
class WhiteSpace {
 public:
  explicit WhiteSpace(std::string_view text) : text_(text) {}
  size_t end_from(size_t at) {
    if (at >= begin_ && at < end_) return end_;
    begin_ = end_ = at;
    while (end_ < text_.size() && is_white_space(utf8_first(text_.substr(end_)).value))
      end_ += utf8_first(text_.substr(end_)).bytes;
    return end_;
  }

 private:
  std::string_view text_;
  size_t begin_ = 0, end_ = 0;
};

bool is_within_word(std::string_view text, size_t first, size_t last) {
  return (first > 0 && is_word_character(last_character(text.substr(0, first)))) ||
         (last < text.size() && is_word_character(utf8_first(text.substr(last)).value));
}

std::vector<std::string> contents_of(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> out;
  out.reserve(tokens.size());
  for (const AddedToken& token : tokens) out.push_back(token.content);
  return out;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), finder_(contents_of(tokens_)) {
  for (const AddedToken& token : tokens_) sizes_.push_back(token.content.size());
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& contents)
    : tokens_(std::move(tokens)), finder_(contents) {
  for (const std::string& content : contents) sizes_.push_back(content.size());
}

// A token inside the white space that belongs to the previous token still counts, unless it takes white space on its
// left.
void AddedTokens::for_each(std::string_view text, const std::function<bool(const AddedToken&, size_t at)>& special,
                           const std::function<void(TextRange, int32_t)>& function) const {
  const auto give = [&](size_t begin, size_t end, int32_t id) {
    function({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, id);
  };
  const std::vector<int32_t> found = finder_.longest(text);
  WhiteSpace space(text);
  size_t begin = 0;  // of the text that was not given yet
  for (size_t at = 0; at < text.size();) {
    if (found[at] < 0) {
      ++at;
      continue;
    }
    const auto index = static_cast<size_t>(found[at]);
    const AddedToken& token = tokens_[index];
    size_t first = at, last = at + sizes_[index];
    at = last;
    if (token.special && !special(token, first)) continue;
    if (token.single_word && is_within_word(text, first, last)) continue;
    if (token.strips_left && first > begin)
      first = begin + without_white_space_at_end(text.substr(begin, first - begin));
    else if (token.strips_left)
      first = begin;
    if (token.strips_right) last = space.end_from(last);
    if (begin < first) give(begin, first, -1);
    if (first < last) give(first, last, token.id);
    begin = last;
  }
  if (begin < text.size()) give(begin, text.size(), -1);
}

}  // namespace qkv
