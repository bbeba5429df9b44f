// The tokenizer in the folder of a published model, with its special tokens and the tokens around a text.
//
//     const Tokenizer tokenizer = read_published_tokenizer("gpt2", TokenizerSide::source, 50257);
//
// The first of these files is read: tokenizer.json; vocab.json with merges.txt (byte-level BPE) or with source.spm and
// target.spm (Marian); vocab.txt (WordPiece); a SentencePiece model (sentencepiece.bpe.model, tokenizer.model,
// spiece.model). The special tokens are named by generation_config.json, config.json and tokenizer_config.json. Folders
// of CTranslate2 have vocabularies with source.spm and target.spm or sentencepiece.model; without these, texts are
// tokens separated by spaces. Folders of Marian have the files that decoder.yml names, folders of llama2.c have
// tok*.bin. Only Marian and CTranslate2 have different tokenizers for source and target. Errors: InputError for a
// folder without any of these files, and for damaged ones.
#pragma once

#include <filesystem>

#include "qkv/text/tokenizer.h"

namespace qkv {

enum class TokenizerSide { source, target };

// rows: the number of ids that the model has on this side; InputError if there are more tokens.
Tokenizer read_published_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);

}  // namespace qkv
