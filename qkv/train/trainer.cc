#include "qkv/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/model/describe_tables.h"
#include "qkv/model/model_file.h"
#include "qkv/train/held_out.h"
#include "qkv/train/interrupt.h"
#include "qkv/train/ranks.h"
#include "qkv/train/stop_reason.h"
#include "qkv/train/summary.h"

namespace qkv {
namespace {

NamedParameters named_parameters(Model& model) {
  NamedParameters parameters;
  model.visit([&](const std::string& name, Variable& parameter) { parameters.emplace_back(name, parameter); });
  return parameters;
}

// The update that the training ends with, unless it stops early; 0: unknown. Epochs differ by some batches: it is
// computed from the first one, whatever epoch a training is resumed in.
int64_t end_of(const TrainOptions& options, TrainingTask& task) {
  if (options.max_epochs == 0) return options.max_steps;
  const int64_t last = std::max<int64_t>(1, options.max_epochs * task.batches_in_epoch() / options.accumulate);
  return options.max_steps > 0 ? std::min(options.max_steps, last) : last;
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, TrainingTask& task, TrainingFolder& folder, const TrainerStart& start)
    : options_(options),
      task_(task),
      folder_(folder),
      ranks_(start.ranks ? *start.ranks : alone_),
      update_(task, update_options(options), ranks_),
      last_update_(end_of(options, task)),
      schedule_(options.schedule_options(last_update_ == 0 && options.max_time.count() > 0 ? 1 : last_update_)),
      began_(start.began),
      warnings_({.frequency_loss = task.frequency_loss(),
                 .suggest_pre_norm = !options.architecture.is_recurrent() &&
                                     options.architecture.transformer().norm_order != NormOrder::pre}),
      best_(stopping_options(options)),
      progress_({.quiet = options.quiet, .terminal = Progress::stderr_is_terminal()}) {
  begin_profile();
  task_.model().train_in({.precision = product_precision(options_.precision), .weights = options_.weights});
  if (start.checkpoint) {
    resume(*start.checkpoint);
  } else {
    state_.corpus = task_.fingerprint();
    state_.vocabulary = task_.vocabulary();
    folder_.begin();
    folder_.write_options(options_);
    options_written_ = true;
    task_.save_vocabulary(folder_.root());
    save_held_out(folder_.root(), task_.held_out());
    keep_search_settings();
  }
  state_.options = to_json(options_);
  if (options_.report_parameters) parameter_norms_.emplace(named_parameters(task_.model()));
  open_records(state_.records);
  repeat_warnings();
  elapsed_before_ = state_.elapsed;
  if (options_.max_time.count() > 0) set_time_limit(last_update_);
  update_.begin(state_.step, std::exchange(loaded_, {}));
  first_step_ = state_.step;
  first_tokens_ = state_.tokens;
  first_seconds_ = state_.seconds;
}

std::optional<StopReason> Trainer::stop_reason() const { return stop_reason_of(options_, state_); }

void Trainer::set_time_limit(int64_t last_update) {
  const bool is_new = state_.time.fit.end == 0;
  time_.emplace(TimeLimitOptions{.seconds = options_.max_time.count(),
                                 .schedule = options_.schedule_options(last_update),
                                 .warmup_is_given = options_.warmup > 0,
                                 .last_update = last_update,
                                 .valid_every = validates() ? options_.valid_every : 0,
                                 .save_every = options_.save_every},
                state_.time);
  if (is_new && state_.step > 0) time_->enter(state_.step, elapsed());
}

double Trainer::elapsed() const {
  return elapsed_before_ + std::chrono::duration<double>(Clock::now() - began_).count();
}

TrainResult Trainer::run() {
  const Interrupt interrupt;
  log_start();
  while (!stop_reason()) {
    if (interrupt.requested() || stop_requested_) return interrupted(interrupt.signal());
    std::optional<StepProfile::Step> profiled;
    if (profile_) profiled.emplace(*profile_);
    iterate();
    profiled.reset();
    if (profile_ && profile_->is_complete()) write_trace();
  }
  finish();
  end_profile();
  return end(result_of(state_, *stop_reason()));
}

TrainResult Trainer::end(TrainResult result) {
  give_order(ranks_, {.kind = RankOrder::Kind::end, .result = result});
  return result;
}

// An update, and what is due after it.
void Trainer::iterate() {
  const double seconds_before = state_.seconds;
  update();
  show_progress();
  if (due(options_.report_every)) report();
  Due files;
  if (due(options_.valid_every) && validates())
    files.model = validate();
  else if (due_early(seconds_before))
    validate_early();
  if (due(options_.save_every)) {
    files = {.model = files.model || !validates(), .state = true};
    save_numbered();
  }
  if (files.model || files.state) save(files);
  state_.elapsed = elapsed();
  if (time_) time_->follow(state_.step, state_.elapsed);
}

TrainResult Trainer::interrupted(int signal) {
  // A folder without a model gets one; a model to be replaced is kept until the regular save.
  save({.model = !folder_.replaces() && (!validates() || !state_.best_validation), .state = true});
  progress_.note(fmt::format("interrupted after step {}, state saved; to continue, train again with resume{}",
                             state_.step,
                             folder_.replaces() ? "; the model in the folder is not replaced yet" : ""));
  end_profile();
  TrainResult result = result_of(state_, StopReason::interrupted);
  result.signal = signal;
  return end(result);
}

void Trainer::log_start() {
  for (const std::string& note : task_.notes()) progress_.note(note);
  progress_.note(fmt::format("{} parameters, {}{}", with_commas(task_.model().parameter_count()),
                             counted(threads(), "thread"),
                             ranks_.size() > 1 ? fmt::format(" in each of {} processes", ranks_.size()) : ""));
  const TrainingSize size = {
      .last_update = last_update_, .batches_in_epoch = task_.batches_in_epoch(), .validates = validates()};
  progress_.note("settings (each is named after its flag):");
  for (const std::string& line : settings_summary(options_, size)) progress_.note("  " + line);
  if (state_.step == 0) warn(task_.data_warnings());
  if (state_.step > 0) progress_.note(fmt::format("resuming after step {}", state_.step));
}

void Trainer::update() {
  const auto begin = Clock::now();
  const BatchPosition position = task_.position();
  const double rate = this->rate(state_.step + 1);
  const bool reports = options_.report_every > 0 && (state_.step + 1) % options_.report_every == 0;
  const bool needs_norms = parameter_norms_ && reports;
  give_order(ranks_, {.kind = RankOrder::Kind::update, .step = state_.step, .rate = rate, .whole = needs_norms});
  const UpdateSums sums = update_.sum_gradients(state_.step, needs_norms);
  state_.last = {.rate = rate, .norm = sums.norm};
  check_numbers(sums, position);
  if (needs_norms) parameter_norms_->before_update(sums.gradient_scale);
  update_.step(rate, sums);
  if (needs_norms) parameter_norms_->after_update();
  rank_seconds_.resize(sums.seconds.size());
  for (size_t i = 0; i < sums.seconds.size(); ++i) rank_seconds_[i] += sums.seconds[i];

  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  ++state_.step;
  state_.position = task_.position();
  state_.tokens += sums.tokens;
  state_.seconds += seconds;
  state_.elapsed = elapsed();
  if (time_) time_->spent(seconds);
  state_.window.loss_sum += sums.loss;
  state_.window.max_norm = std::max(state_.window.max_norm, state_.last.norm);
  state_.window.tokens += sums.tokens;
  state_.window.seconds += seconds;
}

void Trainer::check_numbers(const UpdateSums& sums, BatchPosition position) const {
  if (std::isfinite(sums.loss) && std::isfinite(sums.norm)) return;
  fail("train", "step {}: the loss is {}, the gradient norm {} (epoch {}, batch {}); {}", state_.step + 1,
       sums.loss, sums.norm, position.epoch + 1, position.batch + 1, advice());
}

void Trainer::report() {
  state_.loss = window_loss(state_);
  Json line;
  line["step"] = state_.step;
  line["epoch"] = state_.position.epoch + 1;
  line["loss"] = state_.loss;
  line["learning_rate"] = state_.last.rate;
  line["grad_norm"] = state_.last.norm;
  line["max_grad_norm"] = state_.window.max_norm;
  line["tokens"] = state_.tokens;
  line["tokens_per_s"] = std::round(static_cast<double>(state_.window.tokens) / state_.window.seconds);
  line["seconds"] = state_.seconds;
  if (const std::optional<double> done = progress()) line["progress"] = *done;
  if (parameter_norms_ && due(options_.report_every))
    for (const auto& [name, n] : parameter_norms_->all())
      line["parameters"][name] = {{"gradient", n.gradient}, {"value", n.value}, {"update", n.update}};
  if (ranks_.size() > 1) {
    const RankLoad load = rank_load();
    line["processes"] = ranks_.size();
    line["slowest_process"] = load.slowest;
    line["slowest_share"] = std::round(100 * load.share) / 100;
  }
  rank_seconds_.clear();
  record(line);
  warn(warnings_.report({.step = state_.step, .loss = state_.loss, .max_norm = state_.window.max_norm}));
  state_.window = {};
}

Trainer::RankLoad Trainer::rank_load() const {
  const auto slowest = std::max_element(rank_seconds_.begin(), rank_seconds_.end());
  const double sum = std::accumulate(rank_seconds_.begin(), rank_seconds_.end(), 0.0);
  if (sum == 0) return {};
  return {.slowest = slowest - rank_seconds_.begin(),
          .share = *slowest * static_cast<double>(rank_seconds_.size()) / sum};
}

void Trainer::record(const Json& line) {
  records_->write(line);
  if (options_.on_record && !options_.on_record(line)) stop_requested_ = true;
}

std::optional<double> Trainer::progress() const {
  std::optional<double> done;
  if (last_update_ > 0) done = static_cast<double>(state_.step) / static_cast<double>(last_update_);
  if (time_) done = std::max(done.value_or(0), state_.elapsed / options_.max_time.count());
  if (done) done = std::min(1.0, *done);
  return done;
}

void Trainer::show_progress() {
  if (!progress_.due()) return;
  const double seconds = state_.seconds - first_seconds_;
  const int64_t last = last_update_;
  ProgressStatus status;
  status.fraction = progress();
  status.parts = {{last > 0 ? fmt::format("step {}/{}", state_.step, last) : fmt::format("step {}", state_.step)},
                  {fmt::format("epoch {}", state_.position.epoch + 1), 3},
                  {fmt::format("loss {:.3f}", window_loss(state_)), 2},
                  {fmt::format("lr {:.1e}", state_.last.rate), 5},
                  {format_count(static_cast<double>(state_.tokens - first_tokens_) / seconds) + " tokens/s", 4}};
  if (ranks_.size() > 1) {
    const RankLoad load = rank_load();
    status.parts.push_back({fmt::format("slowest process {}: {:.2f} x", load.slowest, load.share), 6});
  }
  double left = std::numeric_limits<double>::infinity();
  if (last > 0)
    left = seconds / static_cast<double>(state_.step - first_step_) * static_cast<double>(last - state_.step);
  if (time_) left = std::min(left, std::max(0.0, options_.max_time.count() - state_.elapsed));
  if (std::isfinite(left)) status.parts.push_back({format_seconds(left) + " left", 1});
  progress_.show(status);
}

}  // namespace qkv
