// The loop of a training: update after update, reports, validations, saves, until it is over. train() of train.h is
// the way in; this is for those who have prepared data and a folder of their own.
//
//     TrainingFolder folder(options);
//     TrainingData data = prepare_data(options);
//     TrainResult result = Trainer(options, data, folder).run();
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/text/batches.h"
#include "qkv/train/checkpoint.h"
#include "qkv/train/data.h"
#include "qkv/train/folder.h"
#include "qkv/train/progress.h"
#include "qkv/train/run_log.h"
#include "qkv/train/train.h"

namespace qkv {

class Trainer {
 public:
  // Goes on from the folder's state if the options say so and there is one. All three must outlive the trainer.
  Trainer(const TrainOptions& options, const TrainingData& data, const TrainingFolder& folder);

  TrainResult run();
  Transformer& model() { return model_; }
  const TrainingState& state() const { return state_; }

 private:
  bool validates() const { return data_.valid.size() > 0; }
  bool due(int64_t every) const { return every > 0 && state_.step % every == 0; }
  std::optional<Ending> over() const;

  void go_on();  // from the state in the folder
  void introduce();
  void update();
  void check_numbers(double loss, BatchPosition position) const;
  void report();
  void validate();
  void save();        // with a numbered checkpoint
  void save_state();  // without
  void finish();
  void average();
  void show_progress();
  TrainResult result(Ending ending) const;
  double window_loss() const;

  const TrainOptions options_;
  const TrainingData& data_;
  const TrainingFolder& folder_;
  Transformer model_;
  std::vector<Variable> parameters_;
  Adam adam_;
  Schedule schedule_;
  BatchStream batches_;
  Validator validator_;
  EarlyStopping best_;
  TrainingState state_;
  std::optional<RunLog> log_;
  Progress progress_;
  double rate_ = 0, norm_ = 0, last_loss_ = 0;  // of the last update; of the last window
  int64_t first_step_ = 0, first_tokens_ = 0;   // when this process took over
  double first_seconds_ = 0;
};

}  // namespace qkv
