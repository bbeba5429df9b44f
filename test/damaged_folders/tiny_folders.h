// The smallest possible folders of formats other than Hugging Face's.
//
//     write_tiny_llama2c(folder);        // stories.bin and tok.bin
//     write_tiny_min_gpt(folder);        // tiny-model.json
//     write_tiny_ctranslate2(folder);    // model.bin, with 8-bit weights, and shared_vocabulary.json
//     write_tiny_marian(folder);         // model.npz and vocab.yml
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace qkv::test {

void write_tiny_llama2c(const std::filesystem::path& folder);
void write_tiny_min_gpt(const std::filesystem::path& folder);
void write_tiny_ctranslate2(const std::filesystem::path& folder);
void write_tiny_marian(const std::filesystem::path& folder);

// The entries of model.npz: "Wemb.npy" and its bytes.
std::map<std::string, std::string> tiny_marian_arrays();
// A NumPy archive of these entries, which are stored as they are.
std::string zip_of(const std::map<std::string, std::string>& entries);
// The bytes of an array file: the header for this type, '<f4', and shape, "(3, 4)", and the numbers.
std::string npy_of(const std::string& type, const std::string& shape, const std::string& data);

}  // namespace qkv::test
