// Everything that a training must know to go on as if nothing had happened, in one file that is replaced as a
// whole:
//
//     training/state.safetensors     parameter.NAME, adam.first.NAME, adam.second.NAME, and in the metadata the
//     rest
//
//     save_checkpoint(path, state, model, adam);
//     TrainingState state = load_checkpoint(path, model, adam, accept);
//
// Dropout, shuffling and initialisation are functions of the seed and of these counters, so there is no random
// state. InputError, naming the file: not a training state, a counter that makes no sense, a tensor that is
// missing, of another shape, or too many.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qkv/model/transformer.h"
#include "qkv/text/batches.h"
#include "qkv/train/early_stopping.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/validation.h"

namespace qkv {

struct TrainingState {
  int64_t step = 0;        // updates made
  BatchPosition position;  // of the next batch
  int64_t tokens = 0;      // target tokens learnt from
  double seconds = 0;      // spent on updates
  struct Window {          // since the last line of the log
    double loss_sum = 0, seconds = 0;
    int64_t tokens = 0;
  } window;
  EarlyStopping::State best;
  std::optional<Validation> best_validation;
  int64_t validated = 0;       // step of the last validation
  std::vector<int64_t> saved;  // steps of the numbered checkpoints that are there, oldest first
  int64_t log_bytes = 0;
  uint64_t corpus = 0;  // fingerprint of the sentence pairs
  std::string options;  // to_json() of them
};

void save_checkpoint(const std::filesystem::path& path, const TrainingState& state, Transformer& model, Adam& adam);
// accept() sees the state before any tensor is looked at, and may refuse it by throwing: what is wrong with tensors
// is often said better by the options they come from.
using AcceptState = std::function<void(const TrainingState& state)>;
TrainingState load_checkpoint(const std::filesystem::path& path, Transformer& model, Adam& adam,
                              const AcceptState& accept);

}  // namespace qkv
