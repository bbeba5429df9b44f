// The state that a training resumes from, with the same bits as if it had never stopped, in one file that is
// replaced atomically:
//
//     training/state.safetensors     parameter.NAME, and what the optimizer keeps for it:
//                                    adam.first.NAME, adam.second.NAME; the rest is metadata
//
//     save_checkpoint(path, state, model, optimizer.state());
//     const Checkpoint checkpoint(path);                     // reads and checks the metadata
//     checkpoint.load(model, optimizer.state());             // then the tensors
//     optimizer.set_updates(checkpoint.state().step);
//
// Dropout, shuffling and initialisation are functions of the seed and of these counters, so there is no random
// state. InputError, naming the file: not a training state, a counter out of range, a tensor that is missing,
// unknown or of another shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/model/model_file.h"
#include "qkv/text/batches.h"
#include "qkv/train/early_stopping.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/run_records.h"
#include "qkv/train/time_limit.h"
#include "qkv/train/validation.h"

namespace qkv {

struct TrainingState {
  int64_t step = 0;        // updates made
  BatchPosition position;  // of the next batch
  int64_t tokens = 0;      // target tokens trained on
  double seconds = 0;      // spent on updates
  double elapsed = 0;      // spent in all, in all processes
  TimeLimitState time;     // of a training with max_time
  double loss = 0;         // per target token, in the last line of log.jsonl
  struct Window {          // since the last line of log.jsonl
    double loss_sum = 0, seconds = 0;
    int64_t tokens = 0;
    double max_norm = 0;  // of the gradients
  } window;
  struct Update {
    double rate = 0, norm = 0;  // the learning rate; the norm of the gradient
  } last;
  EarlyStopping::State best;
  std::optional<Validation> best_validation;
  int64_t validated = 0;           // step of the last validation
  std::vector<int64_t> saved;      // steps of the numbered checkpoints on disk, oldest first
  RecordBytes records;             // the lengths of log.jsonl and the files beside it
  uint64_t corpus = 0;             // fingerprint of the training data
  bool has_model = false;          // a model is beside it, or was about to be written
  bool finished = false;           // the training ended, averaging included
  VocabularyChecksums vocabulary;  // checksums of its files
  std::string options;             // to_json() of TrainOptions
};

void save_checkpoint(const std::filesystem::path& path, const TrainingState& state, Model& model,
                     std::span<const OptimizerState> optimizer);

class Checkpoint {
 public:
  explicit Checkpoint(const std::filesystem::path& path);

  const TrainingState& state() const { return state_; }
  // Names, shapes and types are checked before the first tensor is read.
  void load(Model& model, std::span<const OptimizerState> optimizer) const;

 private:
  std::string name_;  // for messages
  SafetensorsFile file_;
  TrainingState state_;
};

}  // namespace qkv
