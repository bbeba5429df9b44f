#include "qkv/text/tokenizer/subword_model.h"

#include "qkv/base/json_fields.h"

namespace qkv {

namespace {

constexpr int64_t id_limit = 1 << 24;

// The same as in SentencePiece models: the cost of a text grows with the longest token.
constexpr size_t longest_token = 4096;

void check_lengths(const std::vector<std::string>& tokens, const std::string& where) {
  for (const std::string& token : tokens)
    require<InputError>(token.size() <= longest_token, where, "the token {} of {} bytes is longer than {}",
                        quoted_name(token), token.size(), longest_token);
}

}  // namespace

SubwordVocabulary::SubwordVocabulary(const JsonFields& fields) {
  const Json& json = fields.get("vocab");
  require<InputError>(json.is_object(), fields.where(), "'vocab' must be an object");
  for (const auto& [token, value] : json.items()) {
    const int64_t id = fields.as_integer(value, "vocab");
    require<InputError>(id < id_limit, fields.where(), "the id of {} must be below {}, got {}", quoted_name(token),
                        id_limit, id);
    if (id >= std::ssize(tokens_)) tokens_.resize(static_cast<size_t>(id) + 1);
    require<InputError>(tokens_[static_cast<size_t>(id)].empty(), fields.where(), "{} and {} have the same id {}",
                        quoted_name(tokens_[static_cast<size_t>(id)]), quoted_name(token), id);
    tokens_[static_cast<size_t>(id)] = token;
  }
  check_lengths(tokens_, fields.where());
  index();
}

SubwordVocabulary::SubwordVocabulary(std::vector<std::string> tokens, const std::string& where)
    : tokens_(std::move(tokens)) {
  require<InputError>(std::ssize(tokens_) < id_limit, where, "{} tokens are too many", tokens_.size());
  check_lengths(tokens_, where);
  index();
}

// If a token occurs twice, the last one counts, as in the tokenizers library.
void SubwordVocabulary::index() {
  ids_.reserve(tokens_.size());
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id].empty()) ids_[tokens_[id]] = static_cast<int32_t>(id);
}

std::optional<std::vector<int32_t>> SubwordVocabulary::byte_tokens() const {
  std::vector<int32_t> ids;
  for (int byte = 0; byte < 256; ++byte) {
    const std::optional<int32_t> id = find(fmt::format("<0x{:02X}>", byte));
    if (!id) return {};
    ids.push_back(*id);
  }
  return ids;
}

SubwordModelPtr read_subword_model(const JsonFields& fields) {
  // Files from before 2021 have no type.
  const std::string type = fields.has("type") || !fields.has("merges") ? fields.text("type") : "BPE";
  if (type == "BPE") return read_bpe(fields);
  if (type == "Unigram") return read_unigram(fields);
  if (type == "WordPiece") return read_word_piece(fields);
  if (type == "WordLevel") return read_word_level(fields);
  fields.unknown_type("models");
}

}  // namespace qkv
