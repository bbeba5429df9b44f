#include "qkv/decode/text_stream.h"

#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

// The byte of a token of byte fallback, "<0xE2>".
std::optional<char> byte_of(int32_t id, const Tokenizer& tokenizer) {
  const std::string& token = tokenizer.token(id);
  if (tokenizer.is_text(id) || token.size() != 6 || !token.starts_with("<0x")) return {};
  unsigned value = 0;
  std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  return static_cast<char>(value);
}

}  // namespace

TextStream::TextStream(Tokenizer tokenizer, const std::vector<std::string>& stops,
                       const std::vector<int32_t>& context)
    : tokenizer_(std::move(tokenizer)), stops_(stops), ids_(context), decoded_(context.size()) {}

// The text of the ids that are not yet in it.
std::string TextStream::new_text(bool is_end) {
  const std::span<const int32_t> ids(ids_);
  const std::string before = tokenizer_.decode(ids.subspan(context_, decoded_ - context_));
  const std::string now = tokenizer_.decode(ids.subspan(context_));
  if (!is_end && now.ends_with(replacement))
    return "";  // a part of a character, whose other bytes the next tokens have
  // Tokens without text of their own, such as a space, are no context: the next one would seem to begin the text.
  if (!tokenizer_.decode(ids.subspan(decoded_)).empty()) context_ = decoded_;
  decoded_ = ids_.size();
  return now.substr(before.size());
}

std::string_view TextStream::append(int32_t id) {
  const std::optional<char> byte = byte_of(id, tokenizer_);
  ids_.push_back(id);
  if (byte) bytes_ += *byte;
  if (byte && utf8_complete(bytes_) < bytes_.size()) return {};  // a part of a character is decoded as U+FFFD
  bytes_.clear();
  return stops_.append(new_text());
}

std::string_view TextStream::finish() {
  printed_.clear();
  if (!stopped() && decoded_ < ids_.size()) printed_ = stops_.append(new_text(/*is_end=*/true));
  printed_ += stops_.finish();
  return printed_;
}

}  // namespace qkv
