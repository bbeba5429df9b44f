// The files of a folder with all their bytes, and temporary folders.
//
//     const WorkFolder work("lost_files");
//     restore(work.path(), before);
//     ...
//     for (const auto& [name, bytes] : take_snapshot(work.path())) ...
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace qkv {

using Snapshot = std::map<std::string, std::string>;  // bytes by path, relative to the folder

Snapshot take_snapshot(const std::filesystem::path& folder);
void restore(const std::filesystem::path& folder, const Snapshot& files);  // exactly these files

// Empty at first, removed at the end; in memory where the system allows, because fsync to a disk is slow.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& name);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace qkv
