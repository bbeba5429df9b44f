#include "qkv/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/model/describe_tables.h"
#include "qkv/model/model_file.h"
#include "qkv/train/average.h"
#include "qkv/train/held_out.h"
#include "qkv/train/interrupt.h"
#include "qkv/train/stop_reason.h"
#include "qkv/train/summary.h"

namespace qkv {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::pair<std::string, Variable>> named_parameters(Model& model) {
  std::vector<std::pair<std::string, Variable>> parameters;
  model.visit([&](const std::string& name, Variable& parameter) { parameters.emplace_back(name, parameter); });
  return parameters;
}

std::vector<Variable> parameters_in_order(Model& model) {
  std::vector<Variable> parameters;
  for (const auto& [name, parameter] : named_parameters(model)) parameters.push_back(parameter);
  return parameters;
}

std::string describe(const Validation& v) {
  std::string text = fmt::format("loss {:.4f}, perplexity {:.2f}", v.loss, v.perplexity());
  if (v.bleu) text += fmt::format(", BLEU {:.2f}", *v.bleu);
  if (v.accuracy) text += fmt::format(", accuracy {:.1f}%", 100 * *v.accuracy);
  return text;
}

void describe(const Validation& v, Json& line) {
  line["valid_loss"] = v.loss;
  line["valid_perplexity"] = v.perplexity();
  if (v.bleu) line["valid_bleu"] = *v.bleu;
  if (v.accuracy) line["valid_accuracy"] = *v.accuracy;
}

// The update that the training ends with, unless it stops early; 0: unknown. Epochs differ by some batches: it is
// computed from the first one, whatever epoch a training is resumed in.
int64_t end_of(const TrainOptions& options, TrainingTask& task) {
  if (options.max_epochs == 0) return options.max_steps;
  const int64_t last = std::max<int64_t>(1, options.max_epochs * task.batches_in_epoch() / options.accumulate);
  return options.max_steps > 0 ? std::min(options.max_steps, last) : last;
}

double score_of(const Validation& v, Goal goal) { return goal == Goal::loss ? v.loss : v.bleu.value_or(0); }

}  // namespace

Trainer::Trainer(const TrainOptions& options, TrainingTask& task, TrainingFolder& folder,
                 const Checkpoint* checkpoint)
    : options_(options),
      task_(task),
      folder_(folder),
      parameters_(parameters_in_order(task.model())),
      adam_(parameters_, options.adam()),
      last_update_(end_of(options, task)),
      schedule_(options.schedule_options(last_update_)),
      warnings_({.frequency_loss = task.frequency_loss(),
                 .suggest_pre_norm = !is_recurrent(options.architecture.architecture) &&
                                     options.architecture.norm_order != NormOrder::pre}),
      best_(stopping_options(options)),
      progress_({.quiet = options.quiet, .terminal = Progress::stderr_is_terminal()}) {
  if (checkpoint) {
    resume(*checkpoint);
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
  log_.emplace(folder_.log(), state_.log_bytes);
  repeat_warnings();
  first_step_ = state_.step;
  first_tokens_ = state_.tokens;
  first_seconds_ = state_.seconds;
}

std::optional<StopReason> Trainer::stop_reason() const { return stop_reason_of(options_, state_); }

TrainResult Trainer::run() {
  const Interrupt interrupt;
  log_start();
  while (!stop_reason()) {
    if (interrupt.requested()) return interrupted(interrupt.signal());
    update();
    show_progress();
    if (due(options_.report_every)) report();
    Due files;
    if (due(options_.valid_every) && validates()) files.model = validate();
    if (due(options_.save_every)) {
      files = {.model = files.model || !validates(), .state = true};
      save_numbered();
    }
    if (files.model || files.state) save(files);
  }
  finish();
  return result_of(state_, *stop_reason());
}

TrainResult Trainer::interrupted(int signal) {
  // A folder without a model gets one; a model to be replaced is kept until the regular save.
  save({.model = !folder_.replaces() && (!validates() || !state_.best_validation), .state = true});
  progress_.note(fmt::format("interrupted after step {}, state saved; to continue, train again with resume{}",
                             state_.step,
                             folder_.replaces() ? "; the model in the folder is not replaced yet" : ""));
  TrainResult result = result_of(state_, StopReason::interrupted);
  result.signal = signal;
  return result;
}

void Trainer::log_start() {
  for (const std::string& note : task_.notes()) progress_.note(note);
  progress_.note(fmt::format("{} parameters, {} thread{}", with_commas(task_.model().parameter_count()), threads(),
                             threads() == 1 ? "" : "s"));
  const TrainingSize size = {
      .last_update = last_update_, .batches_in_epoch = task_.batches_in_epoch(), .validates = validates()};
  progress_.note("settings (each is named after its flag):");
  for (const std::string& line : settings_summary(options_, size)) progress_.note("  " + line);
  if (state_.step > 0) progress_.note(fmt::format("resuming after step {}", state_.step));
}

void Trainer::update() {
  const auto begin = Clock::now();
  const BatchPosition position = task_.position();
  // Sums here and one division at the end: several small batches make the same update as a large one.
  double loss = 0;
  int64_t tokens = 0;
  auto pass_number = static_cast<uint64_t>(state_.step * options_.accumulate);
  // A batch of masked text may have no masked token.
  for (int64_t i = 0; i < options_.accumulate || tokens == 0; ++i) {
    Pass pass{.training = true, .seed = options_.seed, .step = pass_number++};
    const CrossEntropy part =
        task_.next_loss({.label_smoothing = options_.label_smoothing, .r_drop = options_.r_drop}, pass);
    if (part.count == 0) continue;
    part.loss.backward();
    loss += static_cast<double>(part.loss.value().at<float>({0}));
    tokens += part.count;
  }
  const double scale = 1.0 / static_cast<double>(tokens);
  state_.last.norm = gradient_norm(parameters_) * scale;
  check_numbers(loss, position);
  state_.last.rate = schedule_.rate(state_.step + 1);
  const double clipped = scale * clip_factor(state_.last.norm, options_.clip);
  const bool reports = options_.report_every > 0 && (state_.step + 1) % options_.report_every == 0;
  if (parameter_norms_ && reports) parameter_norms_->before_update(clipped);
  adam_.step(state_.last.rate, clipped);
  if (parameter_norms_ && reports) parameter_norms_->after_update();
  adam_.zero_grad();

  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  ++state_.step;
  state_.position = task_.position();
  state_.tokens += tokens;
  state_.seconds += seconds;
  state_.window.loss_sum += loss;
  state_.window.max_norm = std::max(state_.window.max_norm, state_.last.norm);
  state_.window.tokens += tokens;
  state_.window.seconds += seconds;
}

void Trainer::check_numbers(double loss, BatchPosition position) const {
  if (std::isfinite(loss) && std::isfinite(state_.last.norm)) return;
  fail("train", "step {}: the loss is {}, the gradient norm {} (epoch {}, batch {}); {}", state_.step + 1, loss,
       state_.last.norm, position.epoch + 1, position.batch + 1, advice());
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
  if (parameter_norms_ && due(options_.report_every))
    for (const auto& [name, n] : parameter_norms_->all())
      line["parameters"][name] = {{"gradient", n.gradient}, {"value", n.value}, {"update", n.update}};
  log_->write(line.dump());
  warn(warnings_.report({.step = state_.step, .loss = state_.loss, .max_norm = state_.window.max_norm}));
  state_.window = {};
}

void Trainer::warn(const std::vector<TrainingWarning>& warnings) {
  for (const TrainingWarning& w : warnings) {
    log_->write(Json({{"step", state_.step}, {"warning", w.name}, {"text", w.text}}).dump());
    const std::string text = "warning: " + w.text;
    if (options_.quiet)
      Progress::write(text + "\n");
    else
      progress_.note(text);
  }
}

// Replays the log for the state of the warnings of a resumed training. A line of another version is
// skipped.
void Trainer::repeat_warnings() {
  if (state_.step == 0) return;
  std::ifstream file(folder_.log());
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::try_parse(text).value_or(nullptr);
    const auto number = [&](const char* key) { return line.contains(key) && line[key].is_number(); };
    if (!line.is_object() || !number("step")) continue;
    const auto step = line["step"].get<int64_t>();
    const auto value = [&](const char* key) { return line[key].get<double>(); };
    if (number("loss") && number("max_grad_norm"))
      warnings_.report({.step = step, .loss = value("loss"), .max_norm = value("max_grad_norm")});
    if (number("valid_loss") && line.contains("best") && !line.contains("averaged")) {
      Validation v{.loss = value("valid_loss")};
      if (number("valid_bleu")) v.bleu = value("valid_bleu");
      if (number("source_gain"))
        warnings_.validation(step, v, {.gain = value("source_gain")});
      else
        warnings_.validation(step, v);
    }
  }
}

bool Trainer::validate() {
  const auto begin = Clock::now();
  const Validation v = task_.validate();
  const bool is_best = best_.offer(score_of(v, options_.patience_on), state_.step);
  state_.best = best_.state();
  state_.validated = state_.step;
  if (is_best) state_.best_validation = v;
  Json line;
  line["step"] = state_.step;
  line["epoch"] = state_.position.epoch + 1;
  describe(v, line);
  const std::optional<SourceUse> use = task_.source_use();
  if (use) {
    line["source_gain"] = use->gain;
    line["cross_attention_entropy"] = use->entropy;
  }
  line["best"] = is_best;
  line["valid_seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
  log_->write(line.dump());
  progress_.note(
      fmt::format("step {}: validation {}{}", state_.step, describe(v), is_best ? ", the best so far" : ""));
  warn(use ? warnings_.validation(state_.step, v, *use) : warnings_.validation(state_.step, v));
  return is_best;
}

void Trainer::finish() {
  if (state_.window.tokens > 0 && options_.report_every > 0) report();
  const bool is_best = validates() && state_.validated != state_.step && validate();
  save_numbered();
  const bool averages = options_.average > 1 && state_.saved.size() > 1;
  state_.finished = !averages;
  save({.model = is_best || !validates(), .state = true});
  if (averages) average();
  const TrainResult r = result_of(state_, *stop_reason());
  progress_.note(fmt::format("done: {} updates of {} tokens in {} ({} tokens/s), {:.0f} MB of memory", r.steps,
                             format_count(static_cast<double>(state_.tokens)), format_seconds(r.seconds),
                             format_count(r.tokens_per_s), static_cast<double>(r.peak_bytes) / 1e6));
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
    describe(v, line);
  }
  line["best"] = is_best;
  if (is_best) save_model_files();
  log_->write(line.dump());
  progress_.note(note);
  set_parameters(last);
  state_.finished = true;
  save_state();
}

void Trainer::set_parameters(const NamedTensors& values) {
  size_t i = 0;
  for (Variable& parameter : parameters_) parameter.mutable_value().copy_from(values[i++].second);
}

void Trainer::show_progress() {
  if (!progress_.due()) return;
  const double seconds = state_.seconds - first_seconds_;
  const int64_t last = last_update_;
  ProgressStatus status;
  status.parts = {{last > 0 ? fmt::format("step {}/{}", state_.step, last) : fmt::format("step {}", state_.step)},
                  {fmt::format("epoch {}", state_.position.epoch + 1), 3},
                  {fmt::format("loss {:.3f}", window_loss(state_)), 2},
                  {fmt::format("lr {:.1e}", state_.last.rate), 5},
                  {format_count(static_cast<double>(state_.tokens - first_tokens_) / seconds) + " tokens/s", 4}};
  if (last > 0) {
    status.fraction = static_cast<double>(state_.step) / static_cast<double>(last);
    const double per_step = seconds / static_cast<double>(state_.step - first_step_);
    status.parts.push_back({format_seconds(per_step * static_cast<double>(last - state_.step)) + " left", 1});
  }
  progress_.show(status);
}

}  // namespace qkv
