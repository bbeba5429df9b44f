#include "qkv/pipeline/text_stream.h"

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
    : tokenizer_(std::move(tokenizer)),
      stops_(stops),
      ids_(context),
      decoded_(context.size()),
      shown_(tokenizer_.decode(context)) {}

// The text of the ids that are not yet in it. If the last token may end within a character, the text waits for the next
// one.
std::string TextStream::new_text(bool may_be_open) {
  const std::span<const int32_t> ids(ids_);
  std::string now = tokenizer_.decode(ids.subspan(context_));
  const bool is_open = may_be_open && now.ends_with(replacement);
  if (is_open) now.resize(now.size() - replacement.size());
  if (is_open) {
    if (!now.starts_with(shown_)) return "";
    return now.substr(std::exchange(shown_, now).size());
  }
  std::string alone = tokenizer_.decode(ids.subspan(decoded_));
  // In a run of byte tokens that is not UTF-8, decode() gives U+FFFD for each byte, even if some were text by
  // themselves.
  std::string piece = now.starts_with(shown_) ? now.substr(shown_.size()) : alone;
  // Tokens without text of their own, such as a space, are not context: the next token would seem to begin the text.
  const bool is_context = !alone.empty();
  if (is_context) context_ = decoded_;
  shown_ = is_context ? std::move(alone) : std::move(now);
  decoded_ = ids_.size();
  return piece;
}

std::string_view TextStream::append(int32_t id) {
  const std::optional<char> byte = byte_of(id, tokenizer_);
  ids_.push_back(id);
  if (byte) bytes_ += *byte;
  if (byte && utf8_complete(bytes_) < bytes_.size()) return {};  // a part of a character is decoded as U+FFFD
  bytes_.clear();
  return stops_.append(new_text(/*may_be_open=*/!byte));
}

std::string_view TextStream::finish() {
  printed_.clear();
  if (!stopped() && decoded_ < ids_.size()) printed_ = stops_.append(new_text(/*may_be_open=*/false));
  printed_ += stops_.finish();
  return printed_;
}

}  // namespace qkv
