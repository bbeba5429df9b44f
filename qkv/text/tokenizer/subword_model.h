// The model of a tokenizer: a vocabulary, and how a piece of text is cut into its tokens. The kinds of tokenizer.json
// are BPE (bpe.h), WordPiece, Unigram and WordLevel.
//
//     const SubwordModelPtr model = read_subword_model(fields);
//     std::vector<SubwordModel::Token> tokens;
//     model->cut("hello", tokens);                            // their ids, and the bytes of the piece that each covers
//
// Errors: InputError for other types, for values of the wrong type, and for merges and ids outside the vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qkv {

class JsonFields;

class SubwordModel {
 public:
  struct Token {
    int32_t id = 0;
    uint32_t bytes = 0;  // of the piece
  };

  virtual ~SubwordModel() = default;
  // Appends the tokens of a piece, which is not empty.
  virtual void cut(std::string_view piece, std::vector<Token>& tokens) const = 0;

  virtual const std::vector<std::string>& tokens() const = 0;  // by id; "" where there is none
  virtual std::optional<int32_t> id_of(std::string_view token) const = 0;
};
using SubwordModelPtr = std::shared_ptr<const SubwordModel>;

SubwordModelPtr read_subword_model(const JsonFields& fields);
SubwordModelPtr read_bpe(const JsonFields& fields);
SubwordModelPtr read_unigram(const JsonFields& fields);
SubwordModelPtr read_word_piece(const JsonFields& fields);
SubwordModelPtr read_word_level(const JsonFields& fields);

// Tokens by id and ids by token.
class SubwordVocabulary {
 public:
  SubwordVocabulary() = default;
  // Reads {"token": id}, or ["token", ...], whose ids are their positions.
  explicit SubwordVocabulary(const JsonFields& fields);
  explicit SubwordVocabulary(std::vector<std::string> tokens, const std::string& where);

  const std::vector<std::string>& tokens() const { return tokens_; }
  std::optional<int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return {};
    return found->second;
  }
  // The ids of the 256 tokens "<0x00>" to "<0xFF>"; none unless all of them exist.
  std::optional<std::vector<int32_t>> byte_tokens() const;

 private:
  void index();
  std::vector<std::string> tokens_;
  std::unordered_map<std::string_view, int32_t> ids_;  // views into tokens_
};

}  // namespace qkv
