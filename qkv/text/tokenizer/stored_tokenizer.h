// A tokenizer with its own special tokens in one file, the vocabulary of a model folder: a JSON object
//
//     {"qkv_tokenizer": 1, "special_tokens": {"pad": 0, "eos": 2, ...}, "tokenizer": {...}}     // as in tokenizer.json
//     {"qkv_tokenizer": 1, "special_tokens": {...}, "sentencepiece": "base64", "ids": {"piece": 7, ...}} // without ids: its own
//     ... "in_text": [7, ...]}                                 // more tokens of texts than the SentencePiece model has
//
//     std::shared_ptr<const TokenizerModel> model = make_json_tokenizer(json_text, "tokenizer.json", special);
//     model->serialized()                                           // that object, for parse_stored_tokenizer()
//
// Errors: InputError, naming the file, if it is not such an object, and for whatever JsonTokenizer and SentencePiece
// reject.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "qkv/text/tokenizer_model.h"

namespace qkv {

// The size limit of vocabulary files, in bytes.
inline constexpr size_t largest_vocabulary_file = 268'435'456;

// A mask or an unknown token that is -1 is found by its name, or by one of its customary names.
struct SpecialNames {
  std::string mask = {}, unk = {};
  bool takes_frame = false;  // the file says which tokens are put around a text
};
std::shared_ptr<const TokenizerModel> make_json_tokenizer(std::string json, const std::string& name,
                                                          SpecialTokens special, const SpecialNames& names = {});

// The pieces of a SentencePiece model, by its ids.
std::vector<std::string> pieces_of(const std::string& bytes, const std::string& name);

// bytes: of a SentencePiece model. ids: by piece, if they are not its own. in_text: tokens that a text is cut at before
// the model sees it.
using PieceIds = std::map<std::string, int32_t, std::less<>>;
std::shared_ptr<const TokenizerModel> make_piece_tokenizer(std::string bytes, const std::string& name,
                                                           std::optional<PieceIds> ids, SpecialTokens special,
                                                           std::vector<int32_t> in_text = {});

// Whether this is such an object and not a SentencePiece model.
bool is_stored_tokenizer(std::string_view bytes);
std::shared_ptr<const TokenizerModel> parse_stored_tokenizer(std::string_view bytes, const std::string& name);

// The members that both kinds begin with: {"qkv_tokenizer": ..., "special_tokens": ...,
std::string stored_head(const SpecialTokens& special);

}  // namespace qkv
