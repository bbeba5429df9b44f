#include "qkv/train/held_out.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv {

namespace fs = std::filesystem;

void save_held_out(const fs::path& folder, const TrainingTask::HeldOut& held_out) {
  if (!held_out.text.empty()) write_file(folder / held_out.file, held_out.text);
}

bool check_held_out(const fs::path& folder, const TrainingTask::HeldOut& held_out) {
  const fs::path path = folder / held_out.file;
  if (held_out.file.empty() || !file_exists(path)) return false;
  if (held_out.text.empty()) return true;
  require<InputError>(read_file(path) == held_out.text, path.string(),
                      "this is not what this training holds out: the file is damaged or was edited; delete it to "
                      "have it written again");
  return true;
}

}  // namespace qkv
