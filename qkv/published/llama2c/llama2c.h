// Checkpoints of llama2.c (version 0): one .bin file with a header of seven numbers and the weights of a Llama, and
// another with its vocabulary, whose name begins with "tok": stories260K.bin and tok512.bin.
//
//     if (const auto folder = open_llama2c("stories")) folder->config();
//
// Errors: InputError for sizes out of range, and for a file that is shorter or longer than its sizes require.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/published/model_folder.h"

namespace qkv {

// Null if the folder does not hold one of each.
std::unique_ptr<ModelFolder> open_llama2c(const std::filesystem::path& path);

Tokenizer llama2c_tokenizer(const std::filesystem::path& file, int64_t rows);

}  // namespace qkv
