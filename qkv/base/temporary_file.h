// Temporary files and folders: TARGET.HOST-RANDOM.tmp, in the folder of the target that they will be renamed to.
//
//     TemporaryFile file("config.json");      // created and open, or file.descriptor is -1 and errno is set
//     ::write(file.descriptor, ...);          // locked (flock) for as long as it is open
//     remove_abandoned("config.json");        // of writers of this target that no longer run
//
//     TemporaryFolder folder("model");        // an InputError if it cannot be created
//     write_file(folder.path() / "config.json", ...);
//     folder.commit();                        // renames it to its target; a folder that was not committed is removed
//
// Names are unique: 64 random bits, and the file or folder is created, never found. It is abandoned if its lock is
// free. Locks may not be visible across machines: a file of another machine, or from before this one was booted, must
// also be unmodified for an hour.
#pragma once

#include <filesystem>

namespace qkv {

struct TemporaryFile {
  explicit TemporaryFile(const std::filesystem::path& target);

  std::filesystem::path path;
  int descriptor = -1;  // the caller closes it
};

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& target);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void commit();  // the target does not exist, or is an empty folder

 private:
  std::filesystem::path target_, path_;
  int descriptor_ = -1;  // locked
};

// Of one target; remove_abandoned_files() of file.h is for all in a folder.
void remove_abandoned(const std::filesystem::path& target);

}  // namespace qkv
