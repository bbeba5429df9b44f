// Encoder-decoders of CTranslate2 (OpenNMT): folders with model.bin and vocabularies.
//
//     if (is_ctranslate2_folder("ende")) PublishedModel model = read_ctranslate2("ende");
//
// Errors: InputError for decoder-only models and other kinds, with their name, and for whatever CTranslate2File
// rejects.
#pragma once

#include <filesystem>

#include "qkv/model/family/ctranslate2_file.h"
#include "qkv/model/family/published_model.h"

namespace qkv {

bool is_ctranslate2_folder(const std::filesystem::path& folder);
PublishedModel read_ctranslate2(const std::filesystem::path& folder);

// The id of the first input of the decoder if that is a vector of zeros: a row after the vocabulary, which is never
// generated. Otherwise -1.
int32_t zero_start_of(const CTranslate2File& file);

}  // namespace qkv
