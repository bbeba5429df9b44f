// An update of the parameters: the gradients of its batches, summed and divided by the number of their target tokens,
// clipped, and a step of the optimizer.
//
//     Update update(task, *optimizer, {.accumulate = 4, .clip = 1, .seed = 1});
//     const UpdateSums sums = update.sum_gradients(n);       // of update n = 0, 1, ...
//     update.step(rate, sums);
//
// Sums and one division at the end: several small batches make the same update as a large one. Dropout is a function
// of the seed and of the number of the batch.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/train/optimizer.h"
#include "qkv/train/options.h"
#include "qkv/train/training_loss.h"
#include "qkv/train/training_task.h"

namespace qkv {

struct UpdateOptions {
  TrainingLoss loss = {};
  int64_t accumulate = 1;  // batches
  double clip = 0;         // maximum norm of the gradient; 0: no clipping
  uint64_t seed = 1;
  bool recompute = false;  // Pass::recompute
};

UpdateOptions update_options(const TrainOptions& options);

struct UpdateSums {
  double loss = 0;            // over the target tokens
  int64_t tokens = 0;         // at least 1
  double norm = 0;            // of the gradient of the mean loss
  double gradient_scale = 1;  // what step() multiplies the summed gradient by
};

class Update {
 public:
  // The arguments must outlive it.
  Update(TrainingTask& task, Optimizer& optimizer, const UpdateOptions& options);

  // From the next batches of the task: the gradients of its parameters.
  UpdateSums sum_gradients(int64_t n);
  // Changes the parameters, and removes their gradients.
  void step(double learning_rate, const UpdateSums& sums);

 private:
  TrainingTask& task_;
  Optimizer& optimizer_;
  UpdateOptions options_;
  std::vector<Variable> parameters_;
};

}  // namespace qkv
