// Checkpoints of llama2.c (version 0): one .bin file with a header of seven numbers and the weights of a Llama, and
// another with its vocabulary, whose name begins with "tok": stories260K.bin and tok512.bin.
//
//     if (is_llama2c_folder("stories")) PublishedModel model = read_llama2c("stories");
//
// Errors: InputError for sizes out of range, and for a file that is shorter or longer than its sizes require.
#pragma once

#include <filesystem>

#include "qkv/model/family/published_model.h"

namespace qkv {

struct Llama2cFiles {
  std::filesystem::path model, vocabulary;
};

// Both paths are empty if the folder does not hold one of each.
Llama2cFiles llama2c_files(const std::filesystem::path& folder);
bool is_llama2c_folder(const std::filesystem::path& folder);
PublishedModel read_llama2c(const std::filesystem::path& folder);

}  // namespace qkv
