// The folder of a model in training (train.h says what is in it): where things are, and whether it may be used.
//
//     TrainingFolder folder(options);                 // decides what to do, and refuses: nothing is written
//     folder.begin();                                 // once all else is known to be right
//     save_checkpoint(folder.state(), ...);  save_model(folder.root(), ...);  folder.publish();
//
// A training that replaces a model does not touch it. It works in training/next-N, a folder laid out like the
// model's own, until it has a model and a state there. publish() then renames that folder to training/committed,
// which is the moment at which the new files are the model's, removes what the training before had besides, and
// moves the files to their places. A process that dies on the way leaves the rest to the next training; readers
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
  // UsageError if the folder holds what the options do not allow to replace, or nothing that could be resumed.
  explicit TrainingFolder(const TrainOptions& options);
  ~TrainingFolder();  // a training that was to replace a model and ends before its first save leaves nothing
  TrainingFolder(const TrainingFolder&) = delete;
  TrainingFolder& operator=(const TrainingFolder&) = delete;

  bool goes_on() const { return goes_on_; }          // there is a state to go on from
  bool replaces() const { return root_ != model_; }  // another model, not yet published

  void begin();
  void publish();

  const std::filesystem::path& root() const { return root_; }  // where model and vocabularies are written
  std::filesystem::path state() const { return training() / "state.safetensors"; }
  std::filesystem::path log() const { return training() / "log.jsonl"; }
  std::filesystem::path checkpoint(int64_t step) const;
  bool has_state() const;
  bool has_model() const;

  void write_options(const TrainOptions& options) const;
  // Removes what the state that was just saved has no use for: numbered checkpoints of other steps, and trainings
  // that were to replace the model and never did.
  void clean(const std::vector<int64_t>& steps) const;

 private:
  std::filesystem::path training() const { return root_ / "training"; }
  void choose(const TrainOptions& options);
  void lock();

  std::filesystem::path model_, root_;
  bool goes_on_ = false;
  Descriptor lock_;
};

// The folder of a training that was to replace the model in `model`, stopped, and can be resumed.
std::optional<std::filesystem::path> staged_training(const std::filesystem::path& model);

}  // namespace qkv
