// Folders of Marian (Junczys-Dowmunt et al., 2018): model.npz, whose settings it holds itself, and vocabularies.
//
//     if (is_marian_folder("opus")) PublishedModel model = read_marian("opus");
//     marian_files("opus").vocabularies                        // source.spm and target.spm
//
// Which files they are, decoder.yml says (its `models` and `vocabs`, by their names alone, in this folder); without it there is one
// .npz in the folder, and one vocabulary (.spm, .yml, .json), which is for both sides. Errors: InputError for ensembles, for
// kinds of models other than the Transformer with ordinary self-attention, and for what NpzFile refuses.
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
