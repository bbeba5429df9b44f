// Folders of Marian (Junczys-Dowmunt et al., 2018): model.npz, which also holds the settings, and vocabularies.
//
//     if (is_marian_folder("opus")) PublishedModel model = read_marian("opus");
//     marian_files("opus").vocabularies                        // source.spm and target.spm
//
// decoder.yml names the files (`models`, `vocabs`; directories are ignored, the files must be in this folder). Without
// it the folder must hold one .npz and one vocabulary (.spm, .yml, .json) for both sides. Errors: InputError for
// ensembles, for models other than the Transformer with ordinary self-attention, and for whatever NpzFile rejects.
#pragma once

#include <filesystem>
#include <vector>

#include "qkv/model/family/published_model.h"

namespace qkv {

struct MarianFiles {
  std::filesystem::path model;
  std::vector<std::filesystem::path> vocabularies;  // of source and target
};

bool is_marian_folder(const std::filesystem::path& folder);
MarianFiles marian_files(const std::filesystem::path& folder);
PublishedModel read_marian(const std::filesystem::path& folder);

}  // namespace qkv
