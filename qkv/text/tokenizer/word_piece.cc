// WordPiece (Schuster and Nakajima, 2012), as BERT cuts words: the longest token that fits, from the left. WordLevel:
// whole words.
#include "qkv/base/json_fields.h"
#include "qkv/text/text_error.h"
#include "qkv/text/tokenizer/prefix_tree.h"
#include "qkv/text/tokenizer/subword_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

int32_t unknown_of(const SubwordVocabulary& vocabulary, const JsonFields& fields, const std::string& absent) {
  const std::string name = fields.text("unk_token", absent);
  const std::optional<int32_t> id = vocabulary.find(name);
  require<InputError>(id.has_value(), fields.where(), "the unknown token {} is not in 'vocab'", quoted_name(name));
  return *id;
}

class WordPiece final : public SubwordModel {
 public:
  explicit WordPiece(const JsonFields& fields)
      : vocabulary_(fields),
        unknown_(unknown_of(vocabulary_, fields, "[UNK]")),
        longest_word_(fields.integer("max_input_chars_per_word", 100)) {
    const std::string prefix = fields.text("continuing_subword_prefix", "##");
    std::vector<std::string> inner;  // without the prefix
    for (const std::string& token : vocabulary_.tokens())
      inner.push_back(token.starts_with(prefix) ? token.substr(prefix.size()) : "");
    first_ = PrefixTree(vocabulary_.tokens());
    inner_ = PrefixTree(inner);
  }

  const std::vector<std::string>& tokens() const override { return vocabulary_.tokens(); }
  std::optional<int32_t> id_of(std::string_view token) const override { return vocabulary_.find(token); }

  void cut(std::string_view piece, std::vector<Token>& tokens) const override {
    const size_t before = tokens.size();
    size_t at = 0;
    if (utf8_length(piece) <= longest_word_)
      while (at < piece.size()) {
        Token longest;
        (at == 0 ? first_ : inner_).for_each_prefix(piece.substr(at), [&](int32_t id, size_t bytes) {
          longest = {id, static_cast<uint32_t>(bytes)};
        });
        if (longest.bytes == 0) break;
        tokens.push_back(longest);
        at += longest.bytes;
      }
    if (at == piece.size()) return;
    tokens.resize(before);
    tokens.push_back({unknown_, static_cast<uint32_t>(piece.size())});
  }

 private:
  SubwordVocabulary vocabulary_;
  int32_t unknown_;
  int64_t longest_word_;
  PrefixTree first_, inner_;  // tokens at the beginning of a word, and inside
};

class WordLevel final : public SubwordModel {
 public:
  explicit WordLevel(const JsonFields& fields)
      : vocabulary_(fields), unknown_(fields.has("unk_token") ? unknown_of(vocabulary_, fields, "") : -1) {}
  const std::vector<std::string>& tokens() const override { return vocabulary_.tokens(); }
  std::optional<int32_t> id_of(std::string_view token) const override { return vocabulary_.find(token); }
  void cut(std::string_view piece, std::vector<Token>& tokens) const override {
    const int32_t id = vocabulary_.find(piece).value_or(unknown_);
    require<TextError>(id >= 0, "tokenizer", "the word {} is not in the vocabulary, which has no unknown token",
                       quoted_name(piece));
    tokens.push_back({id, static_cast<uint32_t>(piece.size())});
  }

 private:
  SubwordVocabulary vocabulary_;
  int32_t unknown_;
};

}  // namespace

SubwordModelPtr read_word_piece(const JsonFields& fields) { return std::make_shared<WordPiece>(fields); }
SubwordModelPtr read_word_level(const JsonFields& fields) { return std::make_shared<WordLevel>(fields); }

}  // namespace qkv
