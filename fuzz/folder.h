// A model folder of which one file comes from the input: its first byte chooses the file, 'a' the first of the list,
// and the rest is what the file holds.
//
//     const FolderFile files[] = {{copy_of("gpt2"), "vocab.json", {"tokenizer.json"}}, ...};
//     with_one_file(files, data, size, [](const fs::path& folder) { use_model(folder); });
//
// The folders are made once, in a scratch folder, each for one of the files, and belong to the process.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace qkv::fuzz {

using MakeFolder = std::function<void(const std::filesystem::path& folder)>;

// A folder of test/checkpoints.
MakeFolder copy_of(const std::string& checkpoint);

struct FolderFile {
  MakeFolder make;
  std::string name;                       // of the file
  std::vector<std::string> without = {};  // files that would be read instead
  // What is written for an input; none: the input itself.
  std::function<std::string(const std::filesystem::path& folder, std::string_view input)> content = {};
};

void with_one_file(std::span<const FolderFile> files, const uint8_t* data, size_t size,
                   const std::function<void(const std::filesystem::path& folder)>& use);

}  // namespace qkv::fuzz
