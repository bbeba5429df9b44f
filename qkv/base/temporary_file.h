// Files on their way to the disk: TARGET.HOST-RANDOM.tmp, beside the target that they will be renamed to.
//
//     TemporaryFile file("config.json");      // made and open, or file.descriptor is -1 and errno says why
//     ::write(file.descriptor, ...);          // locked (flock) for as long as it is open
//     remove_abandoned("config.json");        // those of other writers of this target that are gone
//
// No two writers get one name, whatever they share: 64 random bits, and the file is made with O_EXCL. Who looks for
// abandoned ones asks for the lock. That answers for this machine; for a file made by another one, or before this
// one was started, the lock must be free and nothing written for an hour.
#pragma once

#include <filesystem>

namespace qkv {

struct TemporaryFile {
  explicit TemporaryFile(const std::filesystem::path& target);

  std::filesystem::path path;
  int descriptor = -1;  // the caller closes it
};

// Of one target; remove_abandoned_files() of file.h is for all in a folder.
void remove_abandoned(const std::filesystem::path& target);

}  // namespace qkv
