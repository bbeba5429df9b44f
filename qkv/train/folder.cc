#include "qkv/train/folder.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/train/publish.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// Says early what making the folder would say, when nothing has been read yet.
void check_can_be_made(const fs::path& model) {
  fs::path at = fs::absolute(model);
  while (!file_exists(at) && at.has_parent_path() && at != at.parent_path()) at = at.parent_path();
  std::error_code error;
  const int code = !fs::is_directory(at, error) ? ENOTDIR : ::access(at.c_str(), W_OK | X_OK) != 0 ? errno : 0;
  if (code == 0) return;
  throw FileError(code, (model / "training").string(),
                  "cannot make this folder: " + std::error_code(code, std::generic_category()).message());
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw FileError(error.value(), path.string(), "cannot make this folder: " + error.message());
}

// A file of a name that a training writes, in a folder where none was begun.
std::optional<fs::path> foreign_file(const fs::path& model) {
  if (file_exists(model / "training" / "options.json")) return {};
  for (const char* name : training_files)
    if (file_exists(model / name)) return model / name;
  return {};
}

}  // namespace

TrainingFolder::TrainingFolder(const TrainOptions& options) : model_(options.model), root_(options.model) {
  check_can_be_made(model_);
  if (file_exists(training())) {
    lock();
    place_committed(model_);
  }
  choose(options);
}

TrainingFolder::~TrainingFolder() {
  try {
    std::error_code error;
    if (lock_ >= 0 && replaces() && !has_state()) fs::remove_all(root_, error);
  } catch (const std::exception&) {  // the next training removes it
  }
}

// Where to work, and whether to go on.
void TrainingFolder::choose(const TrainOptions& options) {
  const std::optional<fs::path> staged = staged_training(model_);
  const bool occupied = staged || has_model() || has_state();
  if (options.resume && (staged || has_state())) {
    root_ = staged.value_or(model_);
    goes_on_ = true;
    return;
  }
  require<UsageError>(
      !options.resume || !has_model(), model_.string(),
      "this folder holds a model, but no state to resume its training from (training/{}): overwrite "
      "begins anew, and replaces the model when the new training has one",
      state().filename().string());
  require<UsageError>(options.overwrite || !occupied, model_.string(),
                      "this folder holds a model already: resume goes on training it, overwrite begins anew");
  const std::optional<fs::path> other = foreign_file(model_);
  require<UsageError>(options.overwrite || !other, other ? other->string() : "",
                      "this file is there already, and a training would replace it: overwrite allows that");
  if (!occupied && !other) return;
  int64_t last = 0;
  for (const fs::path& path : files_in(training())) last = std::max(last, number_of_staged(path));
  root_ = training() / fmt::format("next-{}", last + 1);
}

void TrainingFolder::begin() {
  make_folder(model_ / "training");
  if (lock_ < 0) {
    lock();
    require<InputError>(replaces() || (!has_model() && !has_state()), model_.string(),
                        "another training has written a model here meanwhile");
  }
  make_folder(training());
  remove_abandoned_files(root_);
  remove_abandoned_files(training());
}

void TrainingFolder::publish() {
  if (!replaces()) return;
  commit_training(model_, root_);
  root_ = model_;
  place_committed(model_);
}

void TrainingFolder::write_options(const TrainOptions& options) const {
  write_file(training() / "options.json", with_checksum(to_json(options)));
}

void TrainingFolder::lock() {
  const fs::path path = model_ / "training" / "lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file < 0) throw FileError("write", path.string(), errno);
  // A file system without locks is no reason not to train.
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    lock_ = std::move(file);
    return;
  }
  fail<InputError>(model_.string(), "another training is at work in this folder");
}

bool TrainingFolder::has_state() const { return file_exists(state()); }
bool TrainingFolder::has_model() const { return file_exists(root_ / "model.safetensors"); }

fs::path TrainingFolder::checkpoint(int64_t step) const {
  return training() / fmt::format("step-{:09}.safetensors", step);
}

void TrainingFolder::clean(const std::vector<int64_t>& steps) const {
  std::vector<fs::path> keep;
  for (const int64_t step : steps) keep.push_back(checkpoint(step));
  std::error_code error;
  for (const fs::path& path : files_in(training()))
    if (is_numbered_checkpoint(path) && std::find(keep.begin(), keep.end(), path) == keep.end())
      fs::remove(path, error);
  for (const fs::path& path : files_in(model_ / "training"))
    if (number_of_staged(path) > 0 && path != root_) fs::remove_all(path, error);
}

std::optional<fs::path> staged_training(const fs::path& model) {
  std::optional<fs::path> newest;
  for (const fs::path& path : files_in(model / "training"))
    if (number_of_staged(path) > (newest ? number_of_staged(*newest) : 0) &&
        file_exists(path / "training" / "state.safetensors"))
      newest = path;
  return newest;
}

}  // namespace qkv
