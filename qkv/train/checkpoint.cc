#include "qkv/train/checkpoint.h"

#include <set>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/json_fields.h"

namespace qkv {
namespace {

constexpr const char* format = "qkv training state 2";

// Calls each(name, tensor) for every tensor of the file; they are views of the parameters and of the optimizer's state.
template <class Each>
void for_each_tensor(Model& model, std::span<const OptimizerState> optimizer, Each each) {
  size_t i = 0;
  auto state = optimizer.begin();
  model.visit([&](const std::string& name, Variable& parameter) {
    each("parameter." + name, parameter.value());
    for (; state != optimizer.end() && state->parameter == i; ++state) each(state->name + "." + name, state->value);
    ++i;
  });
}

Json json_of(const TimeLimitState& t) {
  return {{"decays", t.fit.decays},
          {"begin", t.fit.begin},
          {"end", t.fit.end},
          {"value", t.fit.value},
          {"warmup", t.fit.warmup},
          {"fitted_at", t.fitted_at},
          {"updates", t.updates},
          {"update_seconds", t.update_seconds},
          {"validation_seconds", t.validation_seconds},
          {"save_seconds", t.save_seconds},
          {"reached", t.reached}};
}

TimeLimitState time_of(const Json& json, const std::string& where) {
  const JsonFields r(json, where);
  const auto count = [&](const char* key) { return r.integer(key, JsonFields::any_count); };
  return {.fit = {.decays = r.flag("decays"),
                  .begin = count("begin"),
                  .end = count("end"),
                  .value = r.number("value"),
                  .warmup = count("warmup")},
          .fitted_at = r.number("fitted_at"),
          .updates = count("updates"),
          .update_seconds = r.number("update_seconds"),
          .validation_seconds = r.number("validation_seconds"),
          .save_seconds = r.number("save_seconds"),
          .reached = r.number("reached")};
}

Json json_of(const TrainingState& s) {
  return {{"step", s.step},
          {"epoch", s.position.epoch},
          {"batch", s.position.batch},
          {"tokens", s.tokens},
          {"seconds", s.seconds},
          {"elapsed", s.elapsed},
          {"time", json_of(s.time)},
          {"window_loss_sum", s.window.loss_sum},
          {"window_seconds", s.window.seconds},
          {"window_tokens", s.window.tokens},
          {"window_max_norm", s.window.max_norm},
          {"last_rate", s.last.rate},
          {"last_norm", s.last.norm},
          {"best", s.best.best ? Json(*s.best.best) : Json()},
          {"best_step", s.best.best_step},
          {"since_best", s.best.since},
          {"best_loss", s.best_validation ? Json(s.best_validation->loss) : Json()},
          {"best_bleu", s.best_validation && s.best_validation->bleu ? Json(*s.best_validation->bleu) : Json()},
          {"best_accuracy",
           s.best_validation && s.best_validation->accuracy ? Json(*s.best_validation->accuracy) : Json()},
          {"validated", s.validated},
          {"saved", s.saved},
          {"loss", s.loss},
          {"has_model", s.has_model},
          {"finished", s.finished},
          {"log_bytes", s.records.log},
          {"metrics_bytes", s.records.metrics},
          {"event_bytes", s.records.events},
          {"corpus", s.corpus}};
}

TrainingState state_of(const Json& json, const std::string& where) {
  const JsonFields r(json, where);
  const auto count = [&](const char* key) { return r.integer(key, JsonFields::any_count); };
  TrainingState s;
  s.step = count("step");
  s.position = {count("epoch"), count("batch")};
  s.tokens = count("tokens");
  s.seconds = r.number("seconds");
  s.elapsed = r.number("elapsed", s.seconds);
  if (const Json* time = json.find("time")) s.time = time_of(*time, where);
  s.window = {r.number("window_loss_sum"), r.number("window_seconds"), count("window_tokens"),
              r.number("window_max_norm", 0)};
  s.last = {r.number("last_rate", 0), r.number("last_norm", 0)};
  s.best.best = r.number_or_null("best");
  s.best.best_step = count("best_step");
  s.best.since = count("since_best");
  if (const std::optional<double> loss = r.number_or_null("best_loss"))
    s.best_validation = {
        .loss = *loss, .bleu = r.number_or_null("best_bleu"), .accuracy = r.number_or_none("best_accuracy")};
  s.validated = count("validated");
  const Json& saved = r.list("saved");
  for (const Json& j : saved) {
    require<InputError>(j.is_number_unsigned() && j.get<uint64_t>() <= static_cast<uint64_t>(s.step), where,
                        "'saved' must be a list of steps, got {}", shown_json(saved));
    s.saved.push_back(j.get<int64_t>());
  }
  s.loss = r.number("loss");
  s.has_model = r.flag("has_model");
  s.finished = r.flag("finished");
  s.records = {.log = count("log_bytes"),
               .metrics = r.integer("metrics_bytes", 0, JsonFields::any_count),
               .events = r.integer("event_bytes", 0, JsonFields::any_count)};
  const Json& corpus = r.get("corpus");
  require<InputError>(corpus.is_number_unsigned(), where, "'corpus' must be a count, got {}", shown_json(corpus));
  s.corpus = corpus.get<uint64_t>();
  return s;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const TrainingState& state, Model& model,
                     std::span<const OptimizerState> optimizer) {
  NamedTensors tensors;
  for_each_tensor(model, optimizer,
                  [&](const std::string& name, const Tensor& t) { tensors.emplace_back(name, t); });
  std::map<std::string, std::string> metadata = {
      {"format", format}, {"state", json_of(state).dump()}, {"options", state.options}};
  metadata.insert(state.vocabulary.begin(), state.vocabulary.end());
  save_safetensors(path, tensors, metadata);
}

Checkpoint::Checkpoint(const std::filesystem::path& path)
    : name_(path.string()), file_(SafetensorsFile::load(path)) {
  const auto entry = [&](const char* key) {
    const auto at = file_.metadata().find(key);
    require<InputError>(at != file_.metadata().end(), name_, "this is not a training state: it has no '{}'", key);
    return at->second;
  };
  require<InputError>(entry("format") == format, name_, "this is not a training state of this version: {}",
                      quoted_name(entry("format")));
  state_ = state_of(parse_json_object(entry("state"), name_), name_);
  state_.options = entry("options");
  for (const char* name : vocabulary_files)
    if (const auto sum = file_.metadata().find(name); sum != file_.metadata().end()) state_.vocabulary.insert(*sum);
  require<InputError>(!state_.vocabulary.empty(), name_, "this is not a training state: it names no vocabulary");
}

void Checkpoint::load(Model& model, std::span<const OptimizerState> optimizer) const {
  std::set<std::string> wanted;
  for_each_tensor(model, optimizer, [&](const std::string& name, const Tensor& to) {
    wanted.insert(name);
    const std::string &type = file_.entry(name, to.shape()).dtype,
                      expected = to.dtype() == DType::bf16 ? "BF16" : "F32";
    require<InputError>(type == expected, name_, "tensor '{}' must be {}, got {}", name, expected, type);
  });
  for (const std::string& name : file_.names())
    require<InputError>(wanted.contains(name), name_, "tensor {} does not belong to this training",
                        quoted_name(name));
  for_each_tensor(model, optimizer, [&](const std::string& name, Tensor to) { to.copy_from(file_.get(name)); });
  model.visit([](const std::string&, Variable& parameter) { parameter.mutable_value(); });  // a new version
}

}  // namespace qkv
