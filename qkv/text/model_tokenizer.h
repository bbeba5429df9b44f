// The tokenizers in the folder of a model, of our own (source.model, target.model, tokenizer.model) or published.
//
//     SavedModel saved = read_model(folder);
//     Tokenizer source = read_model_tokenizer(folder, saved.model->config(), TokenizerSide::source, saved.sums);
//
// A model of one stack has the same tokenizer on both sides. Errors: InputError, naming the file, for a vocabulary with
// another checksum, and for whatever Tokenizer::load and read_published_tokenizer reject.
#pragma once

#include <filesystem>

#include "qkv/model/model_file.h"
#include "qkv/text/published_tokenizer.h"

namespace qkv {

// source.model, target.model or tokenizer.model.
const char* tokenizer_file(Architecture architecture, TokenizerSide side);

Tokenizer read_model_tokenizer(const std::filesystem::path& folder, const TransformerConfig& config,
                               TokenizerSide side, const VocabularyChecksums& sums = {});

}  // namespace qkv
