#include "qkv/train/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
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

// Some file systems allow no new folder whatever their permissions say: /proc, a full disk. 0: no error.
int error_of_folder_in(const fs::path& at) {
  if (::access(at.c_str(), W_OK | X_OK) != 0) return errno;
  std::string name = (at / ".qkv-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return errno;
  ::rmdir(name.c_str());
  return 0;
}

// The error that creating the folder would raise, before anything is read.
void check_can_be_made(const fs::path& model) {
  fs::path at = fs::absolute(model);
  while (!file_exists(at) && at.has_parent_path() && at != at.parent_path()) at = at.parent_path();
  std::error_code error;
  const int code = !fs::is_directory(at, error) ? ENOTDIR : error_of_folder_in(at);
  if (code == 0) return;
  throw FileError(code, (model / "training").string(),
                  "cannot create this folder: " + std::error_code(code, std::generic_category()).message());
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw FileError(error.value(), path.string(), "cannot create this folder: " + error.message());
}

// A file with the name of one that a training writes, in a folder without a training.
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
  } catch (const std::exception&) {  // the next training removes the folder
  }
}

// Sets the folder to write to, and whether to resume.
void TrainingFolder::choose(const TrainOptions& options) {
  const std::optional<fs::path> staged = staged_training(model_);
  const bool occupied = staged || has_model() || has_state();
  if (options.resume && (staged || has_state())) {
    root_ = staged.value_or(model_);
    resumes_ = true;
    return;
  }
  require<UsageError>(
      !options.resume || !has_model(), "train",
      "{} holds a model, but no state to resume its training from (training/{}): 'overwrite' starts "
      "again, and replaces the model when the new training has one",
      model_.string(), state().filename().string());
  require<UsageError>(options.overwrite || !occupied, "train",
                      "{} holds a model already: 'resume' continues its training, 'overwrite' starts again",
                      model_.string());
  const std::optional<fs::path> other = foreign_file(model_);
  require<UsageError>(options.overwrite || !other, "train",
                      "{} exists already, and the training would replace it: 'overwrite' allows that",
                      other ? other->string() : "");
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
                        "another training has written a model to this folder in the meantime");
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
  // Some file systems have no locks: train without one.
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    lock_ = std::move(file);
    return;
  }
  fail<InputError>(model_.string(), "another training is using this folder");
}

bool TrainingFolder::has_state() const { return file_exists(state()); }
bool TrainingFolder::has_model() const { return file_exists(root_ / "model.safetensors"); }

fs::path TrainingFolder::checkpoint(int64_t step) const {
  return training() / fmt::format("step-{:09}.safetensors", step);
}

void TrainingFolder::clean(const std::vector<int64_t>& steps) const {
  std::vector<fs::path> keep;
  keep.reserve(steps.size());
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
