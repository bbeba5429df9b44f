// The folder of a model in training (train.h lists its files): paths, and whether it may be used.
//
//     TrainingFolder folder(options);                 // start, resume or refuse; writes nothing
//     folder.begin();                                 // once all other checks have passed
//     save_checkpoint(folder.state(), ...);  save_model(folder.root(), ...);  folder.publish();
//
// A training that replaces a model does not change the model's files. It writes to training/next-N, a folder with
// the same layout, until it has a model and a state there. publish() then renames that folder to
// training/committed, which is the moment of the replacement, removes the other files of the training before, and
// moves the new ones to their final paths. If the process dies in between, the next training does the rest; readers
// find the files by find_in_model() of model/model_file.h.
//
// One training at a time: a second one is an InputError.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "qkv/base/descriptor.h"
#include "qkv/train/options.h"

namespace qkv {

class TrainingFolder {
 public:
  // UsageError if it holds files that the options do not allow to replace, or no state to resume from.
  explicit TrainingFolder(const TrainOptions& options);
  ~TrainingFolder();  // removes training/next-N if nothing was saved there
  TrainingFolder(const TrainingFolder&) = delete;
  TrainingFolder& operator=(const TrainingFolder&) = delete;

  bool resumes() const { return resumes_; }          // from the state in the folder
  bool replaces() const { return root_ != model_; }  // another model, not yet published

  void begin();
  void publish();

  const std::filesystem::path& root() const { return root_; }  // the folder of model and vocabularies
  std::filesystem::path state() const { return training() / "state.safetensors"; }
  std::filesystem::path log() const { return training() / "log.jsonl"; }
  std::filesystem::path metrics() const { return training() / "metrics.csv"; }
  std::filesystem::path events() const { return training() / "events.out.tfevents.qkv"; }
  std::filesystem::path checkpoint(int64_t step) const;
  bool has_state() const;
  bool has_model() const;

  void write_options(const TrainOptions& options) const;
  // Removes files that the state just saved does not refer to: numbered checkpoints of other steps, and trainings
  // that were to replace the model and never did.
  void clean(const std::vector<int64_t>& steps) const;

 private:
  std::filesystem::path training() const { return root_ / "training"; }
  void choose(const TrainOptions& options);
  void lock();

  std::filesystem::path model_, root_;
  bool resumes_ = false;
  Descriptor lock_;
};

// The folder of a stopped training that was to replace the model in `model` and can be resumed.
std::optional<std::filesystem::path> staged_training(const std::filesystem::path& model);

}  // namespace qkv
