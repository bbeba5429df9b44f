// The tokenizer in the folder of a published model, with its special tokens and what is put around a text.
//
//     const Tokenizer tokenizer = read_published_tokenizer("gpt2", TokenizerSide::source, 50257);
//
// Read are tokenizer.json; else vocab.json with merges.txt (byte-level BPE) or with source.spm and target.spm (Marian); else
// vocab.txt (WordPiece); else a SentencePiece model (sentencepiece.bpe.model, tokenizer.model, spiece.model). Special tokens are those of
// generation_config.json, config.json and tokenizer_config.json. Folders of CTranslate2 have vocabularies, with source.spm and
// target.spm or sentencepiece.model, else texts are tokens between spaces; those of Marian, what their decoder.yml names; those of
// llama2.c, tok*.bin. Tokenizers that differ for source and target are only Marian's and CTranslate2's. Errors: InputError for
// a folder without any of these files, and for damaged ones.
#pragma once

#include <filesystem>

#include "qkv/text/tokenizer.h"

namespace qkv {

enum class TokenizerSide { source, target };

// rows: ids that the model has on this side, at least as many as there are tokens; InputError for fewer.
Tokenizer read_published_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);

}  // namespace qkv
