#include "qkv/pipeline/encoded_sentence.h"

#include <algorithm>

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
  const auto& [before, after] = options.frame;
  EncodedSentence out{.ids = tokenizer.encode(text), .frame = before.size() + after.size()};
  const auto longest = static_cast<size_t>(std::max<int64_t>(options.max_tokens, 0));
  out.truncated = out.ids.size() + out.frame > longest;
  if (out.truncated) out.ids.resize(longest - std::min(longest, out.frame));
  out.ids.insert(out.ids.begin(), before.begin(), before.end());
  out.ids.insert(out.ids.end(), after.begin(), after.end());
  return out;
}

}  // namespace qkv
