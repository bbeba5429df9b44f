// The settings of a folder of Hugging Face that concern its tokenizer: generation_config.json, config.json,
// tokenizer_config.json, special_tokens_map.json and added_tokens.json, each of which may be missing.
//
//     const FolderSettings settings("gpt2", 50257);
//     settings.id("eos_token_id")                         // of the first file that has it; -1 for none
//     settings.token("mask_token")                        // "<mask>"; "" for none
//     settings.tokenizer_class()                          // "GPT2Tokenizer"
//
// Errors: InputError, naming the file, for invalid JSON and invalid ids.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer.h"
#include "qkv/text/tokenizer/added_tokens.h"

namespace qkv {

class FolderSettings {
 public:
  // rows: the number of ids of the model.
  FolderSettings(const std::filesystem::path& folder, int64_t rows);

  // From generation_config.json, else from config.json: a token id, or several; from a list of words, [[286]], the
  // words of one token.
  std::vector<int32_t> ids(const char* key) const;
  int32_t id(const char* key, int32_t absent = -1) const;
  std::vector<int32_t> forbidden() const;
  // From tokenizer_config.json, else from special_tokens_map.json: "<mask>", or {"content": "<mask>"}; a list of such
  // tokens.
  std::string token(const char* key, const std::string& absent = "") const;
  std::vector<std::string> tokens(const char* key) const;
  // Settings of tokenizer_config.json.
  bool has(const char* key) const;
  bool flag(const char* key, bool absent) const;
  int64_t integer(const char* key, int64_t absent) const;

  int64_t rows() const { return rows_; }
  // The name without "Fast". If no file has it, the name for the family; "" for other families.
  std::string tokenizer_class() const;
  std::string model_type() const;
  std::vector<std::string> special_names() const;  // of all settings that name a special token
  std::vector<AddedToken> added_tokens() const;    // of added_tokens_decoder and added_tokens.json
  SpecialTokens special_tokens() const;

 private:
  using File = std::pair<std::string, Json>;
  std::string text(const File& file, const char* key) const;

  std::vector<File> files_;  // generation_config.json, config.json
  File tokenizer_, map_, added_;
  int64_t rows_;
};

}  // namespace qkv
