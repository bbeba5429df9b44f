// The tokenizers of published models by the format of their folder, for published_tokenizer.cc.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "qkv/text/published_tokenizer.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {

class FolderSettings;

Tokenizer huggingface_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);
Tokenizer ctranslate2_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);
Tokenizer marian_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);
Tokenizer llama2c_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);
Tokenizer number_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);

// Tokenizers that began in fairseq, from sentencepiece.bpe.model. The ids come from vocab.json, or are SentencePiece's
// plus one after <s> 0, <pad> 1, </s> 2 and <unk> 3. Then come the languages of M2M100 and NLLB, and <mask>. `special`
// has the special tokens of the settings of the folder.
struct FairseqSettings {
  std::vector<std::string> added = {};  // further tokens that they name, in the order of their ids
  std::string source_language = {};     // the token before a text; empty: <s>
  bool has_languages = false;           // M2M100's, as "__de__"
};
Tokenizer fairseq_tokenizer(const std::filesystem::path& folder, SpecialTokens special,
                            const FairseqSettings& settings);

// Files older than tokenizer.json, converted to one: vocab.json with merges.txt, and vocab.txt. The settings say what
// depends on the class of the tokenizer.
std::string json_of_byte_level_bpe(const std::filesystem::path& folder, const FolderSettings& settings);
std::string json_of_word_piece(const std::filesystem::path& folder, const FolderSettings& settings);
// The SentencePiece model of a family: tokenizer.model or spiece.model.
Tokenizer piece_tokenizer(const std::filesystem::path& file, const FolderSettings& settings);
// A text is tokens separated by spaces; tokens of `special` are never text.
std::string json_of_words(const PieceIds& ids, const std::string& unknown, const std::vector<std::string>& special);

// A file of tokens and their ids: {"the": 4, ...}
PieceIds read_ids(const std::filesystem::path& file);

}  // namespace qkv
