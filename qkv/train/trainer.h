// The session of a training: updates (train/update.h), and the reports, validations and saves between them, of any task. train() of train.h does all of it; this
// class is for tasks and folders prepared by the caller.
//
//     TrainingFolder folder(options);
//     TranslationTask task(options, prepare_translation_data(options));
//     TrainResult result = Trainer(options, task, folder).run();
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/progress.h"
#include "qkv/base/world/one_process.h"
#include "qkv/measure/step_profile.h"
#include "qkv/train/checkpoint.h"
#include "qkv/train/folder.h"
#include "qkv/train/parameter_norms.h"
#include "qkv/train/run_records.h"
#include "qkv/train/train.h"
#include "qkv/train/training_task.h"
#include "qkv/train/update.h"
#include "qkv/train/warnings.h"

namespace qkv {

struct TrainerStart {
  using Clock = std::chrono::steady_clock;
  const Checkpoint* checkpoint = nullptr;  // of the folder, to resume from
  Communicator* ranks = nullptr;           // this process is rank 0 of them, the others follow() (train/ranks.h)
  Clock::time_point began = Clock::now();  // options.max_time counts from here
};

class Trainer {
 public:
  using Clock = TrainerStart::Clock;

  // Nothing is written before everything is checked. The arguments must outlive the trainer.
  Trainer(const TrainOptions& options, TrainingTask& task, TrainingFolder& folder, const TrainerStart& start = {});

  TrainResult run();
  const TrainingState& state() const { return state_; }

 private:
  bool validates() const { return task_.validates(); }
  bool due(int64_t every) const { return every > 0 && state_.step % every == 0; }
  std::optional<StopReason> stop_reason() const;

  void resume(const Checkpoint& checkpoint);
  void open_records(const RecordBytes& bytes);
  void log_start();
  void set_time_limit(int64_t last_update);
  double elapsed() const;
  double rate(int64_t step) const { return time_ ? time_->rate(step) : schedule_.rate(step); }
  void update();
  void iterate();
  void check_numbers(const UpdateSums& sums, BatchPosition position) const;
  void check_parameters();
  std::string advice() const;
  void report();
  struct RankLoad {
    int64_t slowest = 0;  // rank, since the last line of log.jsonl
    double share = 1;     // of the mean time that a rank computes
  };
  RankLoad rank_load() const;
  void record(const Json& line);
  bool validate();  // whether it is the best
  bool due_early(double seconds_before) const;
  void validate_early();
  void finish_validation(Json& line, const Validation& v, double seconds, const std::string& remark);
  void repeat_warnings();
  void warn(const std::vector<TrainingWarning>& warnings);
  TrainResult interrupted(int signal);
  TrainResult end(TrainResult result);
  struct Due {
    bool model = false, state = false;
  };
  void save(Due due);
  void save_numbered();
  void save_model_files();
  void keep_search_settings();
  void save_state();
  void publish();
  void finish();
  void note_end();
  void begin_profile();
  void write_trace();
  void end_profile();
  void average();
  void set_parameters(const NamedTensors& values);
  std::optional<double> progress() const;  // the fraction that is done, if the end is known
  void show_progress();

  const TrainOptions options_;
  TrainingTask& task_;
  TrainingFolder& folder_;
  OneProcess alone_;
  Communicator& ranks_;
  Update update_;
  std::vector<OptimizerState> loaded_;  // of the checkpoint
  std::vector<double> rank_seconds_;    // of each rank, since the last line of log.jsonl
  int64_t last_update_;                 // about; 0: unknown
  Schedule schedule_;
  std::optional<TimeLimit> time_;  // of options.max_time
  Clock::time_point began_;
  double elapsed_before_ = 0;           // in other processes
  std::optional<double> validated_at_;  // in state_.seconds
  size_t averaged_ = 0;                 // checkpoints whose mean is the model
  bool stop_requested_ = false;         // by options.on_record
  TrainingWarnings warnings_;
  std::optional<ParameterNorms> parameter_norms_;  // of the last update reported
  EarlyStopping best_;
  TrainingState state_;
  std::optional<RunRecords> records_;
  Progress progress_;
  int64_t first_step_ = 0, first_tokens_ = 0;  // when this process started
  double first_seconds_ = 0;
  int64_t checked_ = -1;                  // step of the last check of all parameters
  bool options_written_ = false;          // to training/options.json, by this process
  std::optional<StepProfile> profile_;    // with options.profile
  MachineSpeed machine_;                  // once the trace is written
  std::optional<FileWriter> trace_file_;  // until it is written
};

}  // namespace qkv
