// Encoder-decoders of CTranslate2 (OpenNMT): folders with model.bin and vocabularies.
//
//     if (const auto folder = open_ctranslate2("ende")) folder->config();
//
// Errors: InputError for decoder-only models and other kinds, with their name, and for whatever CTranslate2File
// rejects.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/published/model_folder.h"

namespace qkv {

// Null if the folder has another format.
std::unique_ptr<ModelFolder> open_ctranslate2(const std::filesystem::path& path);

// What model.bin says about texts.
struct CTranslate2Texts {
  bool source_bos = false, source_eos = false;  // unless config.json says otherwise
  // The id of the first input of the decoder if that is a vector of zeros: a row after the vocabulary, which is never
  // generated. Otherwise -1.
  int32_t zero_start = -1;
};
Tokenizer ctranslate2_tokenizer(const std::filesystem::path& folder, const CTranslate2Texts& texts,
                                TokenizerSide side, int64_t rows);

}  // namespace qkv
