// Folders of Marian (Junczys-Dowmunt et al., 2018): model.npz, which also holds the settings, and vocabularies.
//
//     if (const auto folder = open_marian("opus")) folder->config();
//
// decoder.yml names the files (`models`, `vocabs`; directories are ignored, the files must be in this folder). Without
// it the folder must hold one .npz and one vocabulary (.spm, .yml, .json) for both sides. Errors: InputError for
// ensembles, for models other than the Transformer with ordinary self-attention, and for whatever NpzFile rejects.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/published/model_folder.h"

namespace qkv {

// Null if the folder has another format.
std::unique_ptr<ModelFolder> open_marian(const std::filesystem::path& path);

// file: of one side. start: the id of the row of zeros that a decoder begins with, -1 for the source.
Tokenizer marian_tokenizer(const std::filesystem::path& file, TokenizerSide side, int32_t start, int64_t rows);

}  // namespace qkv
