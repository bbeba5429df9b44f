// The end of a training: the last validation and save, and the mean of checkpoints.
#include <algorithm>

#include "qkv/base/counted.h"
#include "qkv/base/json.h"
#include "qkv/train/average.h"
#include "qkv/train/stop_reason.h"
#include "qkv/train/trainer.h"
#include "qkv/train/validation_record.h"

namespace qkv {

void Trainer::finish() {
  if (state_.window.tokens > 0 && options_.report_every > 0) report();
  const bool is_best = validates() && state_.validated != state_.step && validate();
  save_numbered();
  const bool averages = options_.average > 1 && state_.saved.size() > 1;
  state_.finished = !averages;
  save({.model = is_best || !validates(), .state = true});
  if (averages) average();
  note_end();
}

void Trainer::note_end() {
  const TrainResult r = result_of(state_, *stop_reason());
  progress_.note(fmt::format("done: {} of {} tokens in {} ({} tokens/s), {:.0f} MB of memory",
                             counted(r.steps, "update"), format_count(static_cast<double>(state_.tokens)),
                             format_seconds(r.seconds), format_count(r.tokens_per_s),
                             static_cast<double>(r.peak_bytes) / 1e6));
  if (r.validation)
    progress_.note(fmt::format("best: {}, {}", describe(*r.validation),
                               averaged_ ? fmt::format("the mean of the last {} checkpoints", averaged_)
                                         : fmt::format("at step {}", r.best_step)));
  if (const TrainingTask::HeldOut held_out = task_.held_out(); !held_out.text.empty())
    progress_.note(fmt::format("held out of training: {}", (folder_.root() / held_out.file).string()));
}

// The mean of the last checkpoints becomes the model, unless a single one is better. The training can be resumed
// from the last one.
void Trainer::average() {
  const size_t count = std::min(state_.saved.size(), static_cast<size_t>(options_.average));
  std::vector<std::filesystem::path> files;
  for (size_t i = state_.saved.size() - count; i < state_.saved.size(); ++i)
    files.push_back(folder_.checkpoint(state_.saved[i]));
  const NamedTensors mean = average_checkpoints(files);
  NamedTensors last;
  for (const auto& [name, tensor] : parameters_of(task_.model())) last.emplace_back(name, tensor.clone());
  set_parameters(mean);
  bool is_best = true;
  std::string note = fmt::format("mean of the last {} checkpoints", count);
  Json line;
  line["step"] = state_.step;
  line["averaged"] = count;
  if (validates()) {
    const Validation v = task_.validate();
    is_best = best_.better(score_of(v, options_.patience_on));
    if (is_best) state_.best_validation = v;
    note += fmt::format(": validation {}{}", describe(v), is_best ? ", the best" : "; a single one is better");
    add_validation(v, line);
  }
  line["best"] = is_best;
  if (is_best) averaged_ = count;
  if (is_best) save_model_files();
  record(line);
  progress_.note(note);
  set_parameters(last);
  state_.finished = true;
  save_state();
}

void Trainer::set_parameters(const NamedTensors& values) {
  size_t i = 0;
  task_.model().visit(
      [&](const std::string&, Variable& parameter) { parameter.mutable_value().copy_from(values[i++].second); });
}

}  // namespace qkv
