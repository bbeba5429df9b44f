// Says what was found in place of a model folder, with the cure, as the end of an error message:
//
//     foreign_folder("openai-community/gpt2")   // "there is no such folder; if it is ..., download it: ..."
//     foreign_folder("llama")                   // "": none of these
//
// It recognizes names of the Hub, entries of its cache, GGUF and other files of weights, and adapters.
#pragma once

#include <filesystem>
#include <string>

namespace qkv {

std::string foreign_folder(const std::filesystem::path& folder);

}  // namespace qkv
