// The folder of a model in training (train.h says what is in it): where things are, and whether it may be used.
//
//     TrainingFolder folder(options);                 // made, or checked and locked
//     save_checkpoint(folder.state(), ...);
//
// A folder that holds a model is left alone unless the options say resume or overwrite; overwrite removes what a
// training before has written, nothing else, and only once the new one can begin. One training at a time: a second
// one is an InputError. Files that a killed training left half written are removed.
#pragma once

#include <filesystem>
#include <vector>

#include "qkv/train/options.h"

namespace qkv {

class TrainingFolder {
 public:
  explicit TrainingFolder(const TrainOptions& options);
  ~TrainingFolder();
  TrainingFolder(const TrainingFolder&) = delete;
  TrainingFolder& operator=(const TrainingFolder&) = delete;

  const std::filesystem::path& model() const { return model_; }
  void write_options(const TrainOptions& options) const;
  std::filesystem::path state() const { return training_ / "state.safetensors"; }
  std::filesystem::path log() const { return training_ / "log.jsonl"; }
  std::filesystem::path checkpoint(int64_t step) const;
  void keep_checkpoints(const std::vector<int64_t>& steps) const;  // removes all others

 private:
  void lock();
  void clear() const;
  void remove_leftovers() const;

  std::filesystem::path model_, training_;
  int lock_ = -1;
};

}  // namespace qkv
