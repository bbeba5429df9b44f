// The files of a folder in memory.
//
//     Folder folder = read_folder("model");     // {"config.json": bytes, "1_Pooling/config.json": bytes, ...}
//     write_folder(folder, "copy");             // replaces what was there
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace qkv::test {

using Folder = std::map<std::string, std::string>;  // relative paths and bytes

Folder read_folder(const std::filesystem::path& path);
void write_folder(const Folder& folder, const std::filesystem::path& path);

}  // namespace qkv::test
