// Validations, and the warnings that follow from them.
#include <algorithm>
#include <chrono>
#include <fstream>

#include "qkv/autograd/profile.h"
#include "qkv/base/json.h"
#include "qkv/train/early_validation.h"
#include "qkv/train/trainer.h"
#include "qkv/train/validation_record.h"

namespace qkv {
namespace {

using Time = std::chrono::steady_clock;

// In a profile it is one span: the ops of a validation are not those of an update.
template <class Work>
auto one_span(std::string_view name, Work&& work) {
  return in_span(name, [&] {
    const ProfileScope off(nullptr);
    return work();
  });
}

double seconds_since(Time::time_point begin) { return std::chrono::duration<double>(Time::now() - begin).count(); }

}  // namespace

bool Trainer::validate() {
  const auto begin = Time::now();
  const Validation v = one_span("validation", [&] { return task_.validate(); });
  const bool is_best = best_.offer(score_of(v, options_.patience_on), state_.step);
  state_.best = best_.state();
  state_.validated = state_.step;
  if (is_best) state_.best_validation = v;
  Json line;
  line["step"] = state_.step;
  line["epoch"] = state_.position.epoch + 1;
  add_validation(v, line);
  const std::optional<SourceUse> use = one_span("validation", [&] { return task_.source_use(); });
  if (use) {
    line["source_gain"] = use->gain;
    line["cross_attention_entropy"] = use->entropy;
  }
  line["best"] = is_best;
  finish_validation(line, v, seconds_since(begin), is_best ? ", the best so far" : "");
  if (time_) time_->validated(seconds_since(begin));
  warn(use ? warnings_.validation(state_.step, v, *use) : warnings_.validation(state_.step, v));
  return is_best;
}

// Shown and logged, and nothing else: it changes neither the best model nor early stopping, whose bits must not depend
// on the speed of the machine.
void Trainer::validate_early() {
  const auto begin = Time::now();
  const Validation v = one_span("validation", [&] { return task_.validate(); });
  Json line;
  line["step"] = state_.step;
  line["epoch"] = state_.position.epoch + 1;
  add_validation(v, line);
  line["early"] = true;
  finish_validation(line, v, seconds_since(begin), ", a first look");
}

void Trainer::finish_validation(Json& line, const Validation& v, double seconds, const std::string& remark) {
  const std::vector<TrainingTask::Sample> samples =
      one_span("validation", [&] { return task_.samples(options_.samples); });
  if (!samples.empty()) line["samples"] = json_of(samples);
  line["valid_seconds"] = seconds;
  record(line);
  validated_at_ = state_.seconds;
  progress_.note(fmt::format("step {}: validation {}{}", state_.step, describe(v), remark));
  for (const std::string& text : describe(samples)) progress_.note(text);
}

bool Trainer::due_early(double seconds_before) const {
  return options_.valid_every > 0 && validates() &&
         early_validation_is_due(
             options_.early_validations,
             {.before = seconds_before, .now = state_.seconds, .last_validation = validated_at_});
}

void Trainer::warn(const std::vector<TrainingWarning>& warnings) {
  for (const TrainingWarning& w : warnings) {
    record({{"step", state_.step}, {"warning", w.name}, {"text", w.text}});
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

}  // namespace qkv
