// Damage to the files of a folder, as disks, transfers and people do it. Which one is a function of the random
// numbers.
//
//     Folder folder = read_folder("model");            // {"config.json": bytes, ...}
//     std::string what = damage(folder, random);       // "config.json: number 16 at byte 301 is now -1"
//     write_folder(folder, "damaged");
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "qkv/base/random.h"

namespace qkv::fuzz {

using Folder = std::map<std::string, std::string>;  // file names and bytes

Folder read_folder(const std::filesystem::path& path);
void write_folder(const Folder& folder, const std::filesystem::path& path);  // replaces what was there

// What a folder is without checksums: as other programs write it, or a hand that edits config.json. Damage then
// reaches what reads the files behind the checksums.
void remove_checksums(Folder& folder);

// One to three damages; what they were.
std::string damage(Folder& folder, Random& random);

}  // namespace qkv::fuzz
