// Encoder-decoders of CTranslate2 (OpenNMT): folders with model.bin and vocabularies.
//
//     if (is_ctranslate2_folder("ende")) PublishedModel model = read_ctranslate2("ende");
//
// Errors: InputError for decoder-only models and other kinds, which are refused by name, and for what CTranslate2File refuses.
#pragma once

#include <filesystem>

#include "qkv/model/family/ctranslate2_file.h"
#include "qkv/model/family/published_model.h"

namespace qkv {

bool is_ctranslate2_folder(const std::filesystem::path& folder);
PublishedModel read_ctranslate2(const std::filesystem::path& folder);

// The id of the first input of the decoder where that is a vector of zeros: a row of its own behind the vocabulary, which is
// never generated; else -1.
int32_t zero_start_of(const CTranslate2File& file);

}  // namespace qkv
