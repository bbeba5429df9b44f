// An update of the parameters: the gradients of its batches, summed and divided by the number of their target tokens,
// clipped, and a step of the optimizer. By one process, or by several that share the work.
//
//     Update update(task, update_options(options), communicator);
//     const UpdateSums sums = update.sum_gradients(n);       // of update n = 0, 1, ...
//     update.step(rate, sums);
//
// Sums and one division at the end: several small batches make the same update as a large one. Dropout is a function
// of the seed and of the number of the batch.
//
// Pieces: the batches of an update are cut into runs, piece k of K having batches [k accumulate / K, (k + 1) accumulate / K).
// N ranks compute K / N pieces each, one after the other. Gradients and losses of pieces are summed in a binary tree whose
// lower levels are inside a rank (train/gradient_tree.h), whatever N is: the same bits for 1, 2, 4, ..., K ranks.
// With context_parallel R, groups of R ranks share each sequence (Pass::part), and N / R groups the pieces. Rank r N / R + g has
// part r of the sequences of group g, so that the tree adds the parts after the pieces: the bits depend on R, but not on the
// number of groups.
// With `communication` bf16 pieces and sums are rounded, at every node of the tree: these bits, too, do not depend on N.
// The gradients of the last piece travel while the rest of it is computed (train/exchange_thread.h).
// All ranks call the same functions, with the same arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "qkv/base/communicator.h"
#include "qkv/base/subgroup.h"
#include "qkv/train/gradient_tree.h"
#include "qkv/train/optimizer.h"
#include "qkv/train/options.h"
#include "qkv/train/parameter_shards.h"
#include "qkv/train/training_loss.h"
#include "qkv/train/training_task.h"

namespace qkv {

class ExchangeThread;

struct UpdateOptions {
  TrainingLoss loss = {};
  OptimizerOptions optimizer = {};
  int64_t accumulate = 1;        // batches
  int64_t pieces = 1;            // a power of two, a multiple of the number of groups
  int64_t context_parallel = 1;  // ranks of a group
  bool shard_optimizer = false;  // each rank keeps the optimizer's state of its part of the parameters alone
  GradientFormat communication = GradientFormat::f32;  // of the sums of pieces, which ranks exchange
  double clip = 0;                                     // maximum norm of the gradient; 0: no clipping
  uint64_t seed = 1;
  bool recompute = false;  // Pass::recompute
};

UpdateOptions update_options(const TrainOptions& options);

struct UpdateSums {
  double loss = 0;              // over the target tokens
  int64_t tokens = 0;           // at least 1
  double norm = 0;              // of the gradient of the mean loss
  double gradient_scale = 1;    // what step() multiplies the summed gradient by
  std::vector<double> seconds;  // of the batches of each rank, without waiting for others
};

class Update {
 public:
  // The task and the communicator must outlive it.
  Update(TrainingTask& task, const UpdateOptions& options, Communicator& c);

  // From the next batches of the task. With `whole`, the parameters of rank 0 have their gradients; without, with
  // shard_optimizer, they may not.
  UpdateSums sum_gradients(int64_t n, bool whole = false);
  // Changes the parameters, and removes their gradients.
  void step(double learning_rate, const UpdateSums& sums);

  // The state of the optimizer, on rank 0 of all parameters, for a checkpoint.
  std::vector<OptimizerState> state();
  // Rank 0 may fill this before begin(), which is called before the first update: all ranks then have the parameters, the
  // state of the optimizer and the position in the data that rank 0 has, and `updates` made.
  std::vector<OptimizerState> state_to_load();
  void begin(int64_t updates, const std::vector<OptimizerState>& loaded);

 private:
  struct Batches {
    int64_t first, count;  // numbers since the start of the training
  };
  struct Sums {
    double loss = 0;
    int64_t tokens = 0;
  };
  Sums sum_piece(int64_t first, int64_t last, ExchangeThread* exchange);
  Sums sum_own(const Batches& batches, double& seconds);
  Sums share(const Sums& own, double seconds, std::vector<double>& all_seconds);
  void skip_batches(int64_t count);
  // Whether gradients travel while others are computed. With context_ the backward pass itself uses the communicator;
  // gradients of what is recomputed are not seen one by one.
  bool overlaps() const { return !context_ && !options_.recompute; }
  int groups() const { return c_.size() / static_cast<int>(options_.context_parallel); }
  double reduce(bool whole);  // returns the norm

  TrainingTask& task_;
  UpdateOptions options_;
  Communicator& c_;
  std::optional<Subgroup> context_;  // the ranks that share sequences with this one
  std::vector<Variable> parameters_;
  std::optional<ParameterShards> shards_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradientTree> tree_;  // of several pieces
};

}  // namespace qkv
