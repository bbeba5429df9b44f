#include "qkv/train/folder.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/text/corpus.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_stream(const std::string& path) {
  std::error_code error;
  return path == "-" || (is_there(path) && !fs::is_regular_file(path, error));
}

// A corpus that cannot be read is found before anything is removed or waited for; but a stream is read only once.
void check_corpus(const std::string& spec) {
  const size_t comma = spec.find(',');
  if (is_stream(spec) || is_stream(spec.substr(0, comma)) || is_stream(spec.substr(comma + 1))) return;
  CorpusReader reader(spec);
  SentencePair pair;
  reader.next(pair);
}

// "state.safetensors.1234-0.tmp": what base/file.h calls a file on its way to the disk.
bool is_leftover(const std::string& name) {
  if (!name.ends_with(".tmp")) return false;
  const std::string_view target = std::string_view(name).substr(0, name.rfind('.', name.size() - 5));
  for (const char* end : {".safetensors", ".json", ".model", ".tsv"})
    if (target.ends_with(end)) return true;
  return false;
}

void remove_matching(const fs::path& folder, FunctionRef<bool(const std::string&)> matches) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (matches(entry.path().filename().string())) found.push_back(entry.path());
  for (const fs::path& path : found) fs::remove(path, error);
}

}  // namespace

TrainingFolder::TrainingFolder(const TrainOptions& options)
    : model_(options.model), training_(options.model / "training") {
  const bool begun = is_there(training_ / "options.json");
  const bool holds_model = is_there(model_ / "model.safetensors") || is_there(state());
  require<InputError>(!options.resume || begun, model_.string(),
                      "there is nothing to resume: no training was begun in this folder");
  require<UsageError>(options.resume || options.overwrite || !holds_model, model_.string(),
                      "this folder holds a model already: resume goes on training it, overwrite begins anew");
  check_corpus(options.train);
  if (!options.valid.empty()) check_corpus(options.valid);

  std::error_code error;
  fs::create_directories(training_, error);
  if (error) throw FileError(error.value(), training_.string(), "cannot make this folder: " + error.message());
  lock();
  remove_leftovers();
  // With a state to go on from, that the options agree with it is to be seen first.
  if (options.resume && is_there(state())) return;
  clear();
  write_options(options);
}

void TrainingFolder::write_options(const TrainOptions& options) const {
  write_file(training_ / "options.json", to_json(options));
}

TrainingFolder::~TrainingFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void TrainingFolder::lock() {
  const fs::path path = training_ / "lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw FileError("write", path.string(), errno);
  // A file system without locks is no reason not to train.
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(lock_);
  fail<InputError>(model_.string(), "another training is at work in this folder");
}

// The state goes first: from then on there is nothing to go on from.
void TrainingFolder::clear() const {
  std::error_code error;
  fs::remove(state(), error);
  for (const char* name : {"model.safetensors", "config.json", "source.model", "target.model", "held-out.tsv"})
    fs::remove(model_ / name, error);
  fs::remove(log(), error);
  keep_checkpoints({});
}

void TrainingFolder::remove_leftovers() const {
  for (const fs::path& folder : {model_, training_})
    remove_matching(folder, [](const std::string& name) { return is_leftover(name); });
}

fs::path TrainingFolder::checkpoint(int64_t step) const {
  return training_ / fmt::format("step-{:09}.safetensors", step);
}

void TrainingFolder::keep_checkpoints(const std::vector<int64_t>& steps) const {
  std::vector<std::string> keep;
  for (const int64_t step : steps) keep.push_back(checkpoint(step).filename().string());
  remove_matching(training_, [&](const std::string& name) {
    return name.starts_with("step-") && name.ends_with(".safetensors") &&
           std::find(keep.begin(), keep.end(), name) == keep.end();
  });
}

}  // namespace qkv
