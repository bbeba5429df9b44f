// Folders of Hugging Face, as save_pretrained() writes them: config.json with a `model_type`, whose family says what the
// settings and tensors mean (published/family/family.h), model.safetensors, and a tokenizer.
//
//     if (const auto folder = open_huggingface("llama")) folder->config();
//
// The first of these files is the tokenizer: tokenizer.json; vocab.json with merges.txt (byte-level BPE) or with
// source.spm and target.spm (Marian); sentencepiece.bpe.model; vocab.txt (WordPiece); tokenizer.model or spiece.model.
// The special tokens are named by generation_config.json, config.json and tokenizer_config.json. Errors: InputError that
// names the file, and all tensors that are missing or left over.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/model/config.h"
#include "qkv/published/huggingface/hf_config.h"
#include "qkv/published/model_folder.h"

namespace qkv {

// Null if the folder has another format.
std::unique_ptr<ModelFolder> open_huggingface(const std::filesystem::path& path);

// The configuration that the family of the settings gives. InputError for one that is not valid.
TransformerConfig huggingface_config(const HfConfig& hf);

Tokenizer huggingface_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows);

}  // namespace qkv
