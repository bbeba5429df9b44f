#include "qkv/train/checkpoint.h"

#include <set>

#include "qkv/base/error.h"
#include "qkv/base/json.h"

namespace qkv {
namespace {

constexpr const char* format = "qkv training state 2";

// Calls each(name, tensor) for every tensor of the file; they are views of the parameters and moments.
template <class Each>
void for_each_tensor(Model& model, Adam& adam, Each each) {
  size_t i = 0;
  model.visit([&](const std::string& name, Variable& parameter) {
    each("parameter." + name, parameter.value());
    each("adam.first." + name, adam.first_moments()[i]);
    each("adam.second." + name, adam.second_moments()[i]);
    ++i;
  });
}

class Reader {
 public:
  Reader(const Json& json, const std::string& where) : json_(json), where_(where) {}

  int64_t count(const char* key) const {
    const Json& j = field(key);
    require<InputError>(j.is_number_integer() && (!j.is_number_unsigned() || j.get<uint64_t>() <= INT64_MAX) &&
                            j.get<int64_t>() >= 0,
                        where_, "'{}' must be a count, got {}", key, shown_json(j));
    return j.get<int64_t>();
  }
  int64_t count_or(const char* key, int64_t absent) const { return json_.contains(key) ? count(key) : absent; }
  double number(const char* key) const {
    const Json& j = field(key);
    require<InputError>(j.is_number(), where_, "'{}' must be a number, got {}", key, shown_json(j));
    return j.get<double>();
  }
  double number_or(const char* key, double absent) const { return json_.contains(key) ? number(key) : absent; }
  bool truth(const char* key) const {
    const Json& j = field(key);
    require<InputError>(j.is_boolean(), where_, "'{}' must be true or false, got {}", key, shown_json(j));
    return j.get<bool>();
  }
  std::optional<double> optional_number(const char* key) const {
    if (field(key).is_null()) return {};
    return number(key);
  }
  // A key that older states lack.
  std::optional<double> number_or_none(const char* key) const {
    return json_.contains(key) ? optional_number(key) : std::nullopt;
  }
  const Json& field(const char* key) const {
    const Json* at = json_.find(key);
    require<InputError>(at != nullptr, where_, "the training state has no '{}'", key);
    return *at;
  }

 private:
  const Json& json_;
  const std::string& where_;
};

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
  const Reader r(json, where);
  return {.fit = {.decays = r.truth("decays"),
                  .begin = r.count("begin"),
                  .end = r.count("end"),
                  .value = r.number("value"),
                  .warmup = r.count("warmup")},
          .fitted_at = r.number("fitted_at"),
          .updates = r.count("updates"),
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
  const Reader r(json, where);
  TrainingState s;
  s.step = r.count("step");
  s.position = {r.count("epoch"), r.count("batch")};
  s.tokens = r.count("tokens");
  s.seconds = r.number("seconds");
  s.elapsed = r.number_or("elapsed", s.seconds);
  if (const Json* time = json.find("time")) s.time = time_of(*time, where);
  s.window = {r.number("window_loss_sum"), r.number("window_seconds"), r.count("window_tokens"),
              r.number_or("window_max_norm", 0)};
  s.last = {r.number_or("last_rate", 0), r.number_or("last_norm", 0)};
  s.best.best = r.optional_number("best");
  s.best.best_step = r.count("best_step");
  s.best.since = r.count("since_best");
  if (const std::optional<double> loss = r.optional_number("best_loss"))
    s.best_validation = {
        .loss = *loss, .bleu = r.optional_number("best_bleu"), .accuracy = r.number_or_none("best_accuracy")};
  s.validated = r.count("validated");
  const Json& saved = r.field("saved");
  require<InputError>(saved.is_array(), where, "'saved' must be a list, got {}", shown_json(saved));
  for (const Json& j : saved) {
    require<InputError>(j.is_number_unsigned() && j.get<uint64_t>() <= static_cast<uint64_t>(s.step), where,
                        "'saved' must be a list of steps, got {}", shown_json(saved));
    s.saved.push_back(j.get<int64_t>());
  }
  s.loss = r.number("loss");
  s.has_model = r.truth("has_model");
  s.finished = r.truth("finished");
  s.records = {.log = r.count("log_bytes"),
               .metrics = r.count_or("metrics_bytes", 0),
               .events = r.count_or("event_bytes", 0)};
  const Json& corpus = r.field("corpus");
  require<InputError>(corpus.is_number_unsigned(), where, "'corpus' must be a count, got {}", shown_json(corpus));
  s.corpus = corpus.get<uint64_t>();
  return s;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const TrainingState& state, Model& model, Adam& adam) {
  NamedTensors tensors;
  for_each_tensor(model, adam, [&](const std::string& name, const Tensor& t) { tensors.emplace_back(name, t); });
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

void Checkpoint::load(Model& model, Adam& adam) const {
  std::set<std::string> wanted;
  for_each_tensor(model, adam, [&](const std::string& name, const Tensor& to) {
    wanted.insert(name);
    const std::string& type = file_.entry(name, to.shape()).dtype;
    require<InputError>(type == "F32", name_, "tensor '{}' must be F32, got {}", name, type);
  });
  for (const std::string& name : file_.names())
    require<InputError>(wanted.contains(name), name_, "tensor {} does not belong to this training",
                        quoted_name(name));
  for_each_tensor(model, adam, [&](const std::string& name, Tensor to) { to.copy_from(file_.get(name)); });
  model.visit([](const std::string&, Variable& parameter) { parameter.mutable_value(); });  // a new version
  adam.set_updates(state_.step);
}

}  // namespace qkv
