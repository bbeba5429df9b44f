#include "qkv/decode/encoded_sentence.h"

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {

std::vector<std::string> tokens_of(std::span<const int32_t> ids, const Tokenizer& tokenizer) {
  std::vector<std::string> out;
  for (const int32_t id : ids) out.push_back(tokenizer.token(id));
  return out;
}

std::vector<std::string> EncodedSentence::tokens(const Tokenizer& tokenizer) const {
  return tokens_of(ids, tokenizer);
}

EncodedSentence encode_sentence(const std::string& text, const Tokenizer& tokenizer,
                                const EncodeSentenceOptions& options) {
  if (const auto at = utf8_error(text)) fail<InputError>(options.name, "invalid UTF-8 at byte {}", *at + 1);
  EncodedSentence out{.ids = tokenizer.encode(text)};
  const auto longest = static_cast<size_t>(options.max_tokens) - 1;
  out.truncated = out.ids.size() > longest;
  if (out.truncated) out.ids.resize(longest);
  out.ids.push_back(Tokenizer::eos);
  return out;
}

}  // namespace qkv
