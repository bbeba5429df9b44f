// What lies where a model folder was expected, as an error says it with the way out:
//
//     foreign_folder("openai-community/gpt2")   // "it is not a folder here; if it is a model of the Hugging Face Hub, download it: ..."
//     foreign_folder("llama")                   // "": none of these
//
// Known are names of the Hub, entries of its cache, GGUF and other files of weights, and adapters.
#pragma once

#include <filesystem>
#include <string>

namespace qkv {

std::string foreign_folder(const std::filesystem::path& folder);

}  // namespace qkv
