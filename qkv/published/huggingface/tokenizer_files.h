// The files of tokenizers that are older than tokenizer.json, for huggingface_tokenizer.cc.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qkv/published/huggingface/folder_settings.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

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

// Converted to a tokenizer.json: vocab.json with merges.txt, and vocab.txt. The settings say what depends on the class of
// the tokenizer.
std::string json_of_byte_level_bpe(const std::filesystem::path& folder, const FolderSettings& settings);
std::string json_of_word_piece(const std::filesystem::path& folder, const FolderSettings& settings);
// The SentencePiece model of a family: tokenizer.model or spiece.model.
Tokenizer piece_tokenizer(const std::filesystem::path& file, const FolderSettings& settings);

}  // namespace qkv
