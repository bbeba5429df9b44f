// Damage to the files of a model folder, as disks, transfers and people do it, and as an attacker would: values of the wrong
// type, sizes that are not those of what follows, parts of a tokenizer that belong to another one. Which one is a function
// of the random numbers.
//
//     Folder folder = read_folder("model");
//     std::string what = damage(folder, random);      // "config.json: number 16 at byte 301 is now -1"
#pragma once

#include <string>

#include "qkv/base/random.h"
#include "test/damaged_folders/folder.h"

namespace qkv::test {

// One to three damages; what they were.
std::string damage(Folder& folder, Random& random);

// What a folder of ours is without checksums: as other programs write it, or a hand that edits config.json. Damage then
// reaches what reads the files behind the checksums.
void remove_checksums(Folder& folder);

}  // namespace qkv::test
