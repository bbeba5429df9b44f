#include "qkv/train/publish.h"

#include <cerrno>
#include <charconv>
#include <vector>

#include "qkv/base/file.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> numbered_checkpoints(const fs::path& folder) {
  std::vector<fs::path> files = files_in(folder);
  std::erase_if(files, [](const fs::path& file) { return !is_numbered_checkpoint(file); });
  return files;
}

// Removes files of the training before that the new one lacks, and other trainings that were to replace the model.
void remove_stale(const fs::path& model, const fs::path& committed) {
  std::error_code error;
  for (const char* name : training_files)
    if (!file_exists(committed / name)) fs::remove(model / name, error);
  for (const fs::path& path : files_in(model / "training")) {
    if (number_of_staged(path) == 0) continue;
    fs::remove_all(path, error);
    if (error) throw FileError("write", path.string(), error.value());
  }
  for (const fs::path& file : numbered_checkpoints(model / "training"))
    if (!file_exists(committed / "training" / file.filename())) fs::remove(file, error);
}

}  // namespace

int64_t number_of_staged(const fs::path& path) {
  const std::string name = path.filename().string(), prefix = "next-";
  int64_t number = 0;
  if (!name.starts_with(prefix)) return 0;
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

bool is_numbered_checkpoint(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("step-") && name.ends_with(".safetensors");
}

void commit_training(const fs::path& model, const fs::path& staging) {
  const fs::path training = model / "training", committed = training / "committed";
  force_folder(staging / "training");
  force_folder(staging);
  std::error_code error;
  fs::rename(staging, committed, error);
  if (error) throw FileError("write", committed.string(), error.value());
  force_folder(training);
}

// model.safetensors is the first file that is moved: as long as it is in `committed`, so are all others.
void place_committed(const fs::path& model) {
  const fs::path training = model / "training", committed = training / "committed";
  if (!file_exists(committed)) return;
  if (file_exists(committed / training_files[0])) remove_stale(model, committed);
  for (const char* name : training_files)
    if (file_exists(committed / name)) move_file(committed / name, model / name);
  for (const fs::path& file : numbered_checkpoints(committed / "training"))
    move_file(file, training / file.filename());
  force_folder(training);
  force_folder(model);
  std::error_code error;
  fs::remove_all(committed, error);
  if (error) throw FileError("write", committed.string(), error.value());
}

}  // namespace qkv
