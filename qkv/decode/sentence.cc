#include "qkv/decode/sentence.h"

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {

std::vector<std::string> tokens_of(std::span<const int32_t> ids, const Tokenizer& tokenizer) {
  std::vector<std::string> out;
  for (const int32_t id : ids) out.push_back(tokenizer.token(id));
  return out;
}

std::vector<std::string> Sentence::tokens(const Tokenizer& tokenizer) const { return tokens_of(ids, tokenizer); }

Sentence read_sentence(const std::string& text, const Tokenizer& tokenizer, const ReadOptions& options) {
  if (const auto at = utf8_error(text)) fail<InputError>(options.name, "invalid UTF-8 at byte {}", *at + 1);
  Sentence out{.ids = tokenizer.encode(text)};
  const auto most = static_cast<size_t>(options.positions) - 1;
  out.truncated = out.ids.size() > most;
  if (out.truncated) out.ids.resize(most);
  out.ids.push_back(Tokenizer::eos);
  return out;
}

}  // namespace qkv
