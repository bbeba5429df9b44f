// Vocabularies for texts that are already tokens, separated by spaces: a list of words with their ids.
//
//     const PieceIds ids = read_ids("vocab.json");
//     Tokenizer(make_json_tokenizer(json_of_words(ids, "<unk>", {"</s>"}), "vocab.json", special));
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {

// As a tokenizer.json. Tokens of `special` are never text.
std::string json_of_words(const PieceIds& ids, const std::string& unknown, const std::vector<std::string>& special);

// A file of tokens and their ids: {"the": 4, ...}
PieceIds read_ids(const std::filesystem::path& file);

}  // namespace qkv
