#include "qkv/train/options.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/model/architecture_settings.h"
#include "qkv/model/make_model.h"
#include "qkv/model/model_file.h"
#include "qkv/train/folder.h"
#include "qkv/train/option_table.h"

namespace qkv {
namespace {

// Of the peak of a new model (doc/training.md has the measurements).
constexpr double continued_share = 0.1;

struct Writer {
  Json& json;
  template <class T>
  void operator()(const Setting& setting, const T& value, OnResume on_resume) {
    if (on_resume != OnResume::not_stored) json[setting.name] = value;
  }
  template <WithNames Enum>
  void operator()(const Setting& setting, const Enum& value, OnResume) {
    json[setting.name] = name_of(value);
  }
  void operator()(const Setting& setting, const Seconds& value, OnResume) {
    json[setting.name] = duration_text(value);
  }
  void operator()(const Setting& setting, const CorpusPaths& value, OnResume) {
    if (value.list.size() == 1)
      json[setting.name] = value.list.front();
    else
      json[setting.name] = value.list;
  }
};

struct OptionReader {
  const Json& json;
  const std::string& where;
  std::vector<std::string_view> known = {"architecture"};

  const Json* find(const char* key) {
    known.push_back(key);
    return json.find(key);
  }
  template <class T>
  void operator()(const Setting& setting, T& value, OnResume on_resume) {
    if (on_resume == OnResume::not_stored) return;
    const char* key = setting.name;
    const Json* j = find(key);
    if (!j) return;
    if constexpr (std::is_same_v<T, bool>) {
      require<InputError>(j->is_boolean(), where, "'{}' must be true or false, got {}", key, shown_json(*j));
    } else if constexpr (std::is_integral_v<T>) {
      require<InputError>(j->is_number_integer(), where, "'{}' must be an integer, got {}", key, shown_json(*j));
      const bool fits = j->is_number_unsigned() ? std::in_range<T>(j->template get<uint64_t>())
                                                : std::in_range<T>(j->template get<int64_t>());
      require<InputError>(fits, where, "'{}' is out of range: {}", key, shown_json(*j));
    } else if constexpr (std::is_floating_point_v<T>) {
      require<InputError>(j->is_number(), where, "'{}' must be a number, got {}", key, shown_json(*j));
    } else {
      require<InputError>(j->is_string(), where, "'{}' must be a string, got {}", key, shown_json(*j));
    }
    value = j->template get<T>();
  }
  void operator()(const Setting& setting, Seconds& value, OnResume) {
    const Json* j = find(setting.name);
    if (!j) return;
    const std::optional<Seconds> time = j->is_string() ? read_seconds(j->text()) : std::nullopt;
    require<InputError>(time.has_value(), where, "'{}' must be a time such as 30m, got {}", setting.name,
                        shown_json(*j));
    value = *time;
  }
  void operator()(const Setting& setting, CorpusPaths& value, OnResume) {
    const Json* j = find(setting.name);
    if (!j) return;
    const bool is_list =
        j->is_array() && std::all_of(j->begin(), j->end(), [](const Json& path) { return path.is_string(); });
    require<InputError>(j->is_string() || is_list, where, "'{}' must be a string or a list of strings, got {}",
                        setting.name, shown_json(*j));
    value = is_list ? CorpusPaths(j->get<std::vector<std::string>>()) : CorpusPaths(j->text());
  }
  template <WithNames Enum>
  void operator()(const Setting& setting, Enum& value, OnResume) {
    const Json* j = find(setting.name);
    if (!j) return;
    value = value_named<Enum, InputError>(j->is_string() ? j->get<std::string>() : shown_json(*j).text(), where,
                                          fmt::format("'{}'", setting.name));
  }
};

// Every setting that is fixed on resume, with its value.
struct FixedSettings {
  Json json = Json::object();
  template <class T>
  void operator()(const Setting& setting, const T& value, OnResume on_resume) {
    if (on_resume == OnResume::fixed) Writer{json}(setting, value, on_resume);
  }
  template <class T>
  void operator()(const Setting& setting, const T& value) {
    if constexpr (std::is_assignable_v<T&, AttentionPattern>) {
      json[setting.name] = to_string(value);
    } else {
      Writer{json}(setting, value, OnResume::fixed);
    }
  }
};

Json json_of(const TrainOptions& options) {
  Json json;
  visit_options(options, Writer{json});
  ModelConfig architecture = options.architecture;
  architecture.set_vocabularies(0, 0);
  json["architecture"] = Json::parse(to_json(architecture));
  return json;
}

Json fixed_settings(const TrainOptions& options) {
  FixedSettings settings;
  visit_options(options, settings);
  ArchitectureSettings(options.architecture).visit(settings);
  settings.json["configuration"] = json_of(options)["architecture"];  // includes fields without a setting
  return settings.json;
}

std::filesystem::path options_file(const std::filesystem::path& model) {
  const std::filesystem::path name = std::filesystem::path("training") / "options.json";
  if (const auto staged = staged_training(model)) return *staged / name;
  return find_in_model(model, name.string());
}

// The sizes of the vocabularies are not options: they are 0 here, which a model refuses.
ModelConfig config_of(Json architecture, const std::string& where) {
  require<InputError>(architecture.is_object(), where, "'architecture' must be an object");
  // One after the other: a new member may move those before it.
  for (const char* key : {"source_vocabulary", "target_vocabulary"}) architecture[key] = 1;
  ModelConfig config = config_from_json(architecture.dump(), where);
  config.set_vocabularies(0, 0);
  return config;
}

// A one-layer model is enough to find settings that do not fit, and is cheap to build.
void check_architecture(ModelConfig config) {
  config.set_vocabularies(Tokenizer::unk + 1, Tokenizer::unk + 1);
  config.check();
  config.visit([](auto& c) { c.encoder_layers = c.decoder_layers = 1; });
  make_model(config);
}

bool has_dropout(const TransformerConfig& c) {
  return c.dropout > 0 || c.attention_dropout > 0 || c.ffn_dropout > 0;
}
bool has_dropout(const RecurrentConfig& c) { return c.dropout > 0; }

// "automatic (0.0025)" for a learning rate that was not given.
std::string shown_setting(const std::string& key, const Json& value, const TrainOptions& options) {
  if (key == "learning-rate" && options.learning_rate == 0)
    return fmt::format("automatic ({:.3g})", options.rate());
  return shown_json(value).text();
}

}  // namespace

double TrainOptions::rate() const {
  if (learning_rate > 0) return learning_rate;
  if (schedule == ScheduleKind::noam) return 1;
  const double share = init.empty() ? 1 : continued_share;
  const double tokens = batch_sentences > 0 ? 4096 : static_cast<double>(batch_tokens * accumulate);
  return share * 0.64 / static_cast<double>(architecture.d_model()) * std::min(1.0, std::sqrt(tokens / 4096));
}

TokenizerOptions TrainOptions::tokenizer_options() const {
  return {.type = tokenizer,
          .vocabulary_size = vocabulary_size,
          .character_coverage = character_coverage,
          .lossless = lossless,
          .seed = seed};
}

OptimizerOptions TrainOptions::optimizer_options() const {
  return {.kind = optimizer,
          .beta1 = beta1,
          .beta2 = beta2,
          .eps = eps,
          .weight_decay = weight_decay,
          .state = optimizer_state};
}

int64_t TrainOptions::warmup_updates(int64_t last_update) const {
  constexpr int64_t max_warmup = 4000;
  if (warmup > 0) return warmup;
  return last_update > 0 ? std::clamp<int64_t>(last_update / 12, 1, max_warmup) : max_warmup;
}

ScheduleOptions TrainOptions::schedule_options(int64_t last_update) const {
  return {.kind = schedule,
          .peak = rate(),
          .warmup = warmup_updates(last_update),
          .steps = last_update,
          .d_model = architecture.d_model()};
}

void TrainOptions::check() const {
  require<UsageError>(!train.empty(), "train", "train is required: {}",
                      is_language_model(architecture.architecture())
                          ? "a file of text, a document a line"
                          : "a TSV file of sentence pairs (source TAB target), or two files a,b");
  require<UsageError>(!model.empty(), "train", "model is required: the folder that the model is written to");
  require<UsageError>(!(resume && overwrite), "train", "'resume' and 'overwrite' exclude each other");
  visit_options(*this, CheckRanges{"train"});
  require<UsageError>(threads <= max_threads(), "train", "threads must be at most {} on this machine, got {}",
                      max_threads(), threads);
  require<UsageError>(std::has_single_bit(static_cast<uint64_t>(pieces)) && pieces <= accumulate, "train",
                      "pieces must be a power of two of at most accumulate, {}, got {}", accumulate, pieces);
  require<UsageError>(context_parallel == 1 || architecture.architecture() == Architecture::causal, "train",
                      "context-parallel {} is for causal language models, got {}", context_parallel,
                      name_of(architecture.architecture()));
  require<UsageError>(
      context_parallel == 1 || max_length % (2 * context_parallel) == 0, "train",
      "context-parallel {} divides rows into {} equal blocks: max-length must be a multiple of that, "
      "got {}",
      context_parallel, 2 * context_parallel, max_length);
  const bool drops = architecture.visit([](const auto& c) { return has_dropout(c); });
  require<UsageError>(r_drop == 0 || drops, "train",
                      "r-drop {} needs dropout: without it, two passes over a batch are the same", r_drop);
  require<UsageError>(bpe_dropout == 0 || tokenizer == TokenizerType::bpe, "train",
                      "bpe-dropout {} needs a tokenizer of type bpe, got {}", bpe_dropout, name_of(tokenizer));
  require<UsageError>(!recompute || !architecture.is_recurrent(), "train",
                      "recompute is for the blocks of Transformers, architecture {} has none",
                      name_of(architecture.architecture()));
  const bool text = is_language_model(architecture.architecture());
  require<UsageError>(!text || bpe_dropout == 0, "train",
                      "bpe-dropout {} is for sentence pairs, architecture {} has none", bpe_dropout,
                      name_of(architecture.architecture()));
  require<UsageError>(architecture.architecture() == Architecture::masked ||
                          (masking_rate == TrainOptions().masking_rate && !mask_whole_words),
                      "train", "masking-rate and mask-whole-words are for architecture masked, got {}",
                      name_of(architecture.architecture()));
  require<UsageError>(!text || patience_on == Goal::loss, "train",
                      "patience-on bleu is for sentence pairs, architecture {} has none",
                      name_of(architecture.architecture()));
  require<UsageError>(max_length <= architecture.position_limit(), "train",
                      "max-length {} exceeds the {} positions of the model", max_length,
                      architecture.position_limit());
  const bool validates = !valid.empty() || hold_out > 0;
  const bool stops_early = patience > 0 && validates && valid_every > 0;
  require<UsageError>(
      max_steps > 0 || max_epochs > 0 || max_time.count() > 0 || stops_early, "train",
      "max-steps, max-epochs and max-time are 0, and there is no early stopping: it needs patience, valid-every "
      "and 'valid' or hold-out: the training would never end");
  require<UsageError>(patience_on == Goal::loss || valid_sentences > 0, "train",
                      "patience-on bleu needs valid-sentences of at least 1, got {}", valid_sentences);
  const bool other_end = max_epochs > 0 || max_time.count() > 0;
  Schedule{schedule_options(max_steps == 0 && other_end ? 1 : max_steps)};
  check_options(tokenizer_options());
  check_architecture(architecture);
}

std::string to_json(const TrainOptions& options) { return json_of(options).dump(2) + "\n"; }

TrainOptions train_options_from_json(const std::string& text, const std::string& where) {
  const Json json = parse_json_object(text, where);
  TrainOptions options;
  OptionReader reader{json, where};
  visit_options(options, reader);
  for (const auto& [key, value] : json.items())
    if (std::find(reader.known.begin(), reader.known.end(), key) == reader.known.end())
      fail<InputError>(where, "unknown key {}{}", quoted_name(key), did_you_mean(key, reader.known));
  require<InputError>(json.contains("architecture"), where, "there is no 'architecture'");
  options.architecture = config_of(json["architecture"], where);
  return options;
}

TrainOptions stored_options(const std::filesystem::path& model) {
  const std::filesystem::path path = options_file(model);
  require<InputError>(file_exists(path), model.string(),
                      "no training was started in this folder: it has no training/options.json");
  const std::string text = without_checksum(read_file(path, JsonLimits{}.bytes), path.string());
  TrainOptions options = train_options_from_json(text, path.string());
  options.model = model;
  return options;
}

bool has_stored_options(const std::filesystem::path& model) { return file_exists(options_file(model)); }

std::optional<std::string> difference(const std::string& before, const TrainOptions& now,
                                      const std::string& where) {
  // Read and written once more, so that a key that is missing or new, or that the architecture does not have, has its
  // default.
  const auto settings = [&](const std::string& json) {
    return fixed_settings(train_options_from_json(json, where));
  };
  const Json was = settings(before), is = settings(to_json(now));
  for (const auto& [key, value] : is.items())
    if (was.at(key) != value)
      return fmt::format("'{}' was {} and is now {}", key,
                         shown_setting(key, was.at(key), train_options_from_json(before, where)),
                         shown_setting(key, value, now));
  return {};
}

}  // namespace qkv
