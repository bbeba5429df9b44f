// Temporary files: TARGET.HOST-RANDOM.tmp, in the folder of the target that they will be renamed to.
//
//     TemporaryFile file("config.json");      // created and open, or file.descriptor is -1 and errno is set
//     ::write(file.descriptor, ...);          // locked (flock) for as long as it is open
//     remove_abandoned("config.json");        // of writers of this target that no longer run
//
// Names are unique: 64 random bits, and the file is created with O_EXCL. A file is abandoned if its lock is free. Locks
// may not be visible across machines: a file of another machine, or from before this one was booted, must also be
// unmodified for an hour.
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
