#include "qkv/pipeline/generation_config.h"

#include <map>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/decode/option_table.h"
#include "qkv/published/huggingface/hf_config.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// What these functions read, besides the keys of the option table.
constexpr const char* other_keys[] = {
    "early_stopping",  "max_length",        "max_new_tokens",      "min_length",
    "do_sample",       "typical_p",         "epsilon_cutoff",      "eta_cutoff",
    "num_beam_groups", "diversity_penalty", "forced_eos_token_id", "exponential_decay_length_penalty"};

std::optional<HfConfig> read_settings(const ModelFolder& folder) {
  const auto settings = folder.generation_config();
  if (!settings) return {};
  return HfConfig(settings->json, settings->file);
}
std::optional<HfConfig> read_settings(const fs::path& folder) { return read_settings(*open_model_folder(folder)); }

// Checks options that a file has set; the user has given none.
template <class Options>
void check_settings(const Options& options, const std::string& file) {
  try {
    check_options(options);
  } catch (const UsageError& e) {
    fail<InputError>(file, "{}", e.what());
  }
}

int64_t forced_end(const HfConfig& s) { return s.has("forced_eos_token_id") ? 1 : 0; }
bool is_sampling(const HfConfig& s) { return s.flag("do_sample", false); }
int64_t beams(const HfConfig& s) { return s.count("num_beams", 1); }

// Takes the options whose keys the file has.
struct ReadKeys {
  const HfConfig& settings;

  template <class T>
  void operator()(const Setting& setting, T& value) const {
    if (!*setting.key || !settings.has(setting.key)) return;
    if constexpr (std::is_same_v<T, double>) value = settings.number(setting.key);
    if constexpr (std::is_same_v<T, int64_t>)
      value = setting.range.contains(0) ? settings.index(setting.key, 0) : settings.count(setting.key);
  }
};

SamplingOptions read_sampling(const HfConfig& s) {
  SamplingOptions o;
  if (is_sampling(s)) {
    o.top_k = 50;
    option_table::visit_draws(o, ReadKeys{s});
  } else {
    o.temperature = 0;
  }
  option_table::visit_repetition(o, ReadKeys{s});
  return o;
}

// The limits on what is drawn, by name.
std::map<std::string, double> limits_of(const SamplingOptions& options) {
  std::map<std::string, double> limits;
  option_table::visit_draws(options, [&](const Setting& setting, const auto& value) {
    if (std::string_view(setting.name) != "temperature") limits[setting.name] = static_cast<double>(value);
  });
  return limits;
}

// Messages about settings that are ignored.
class Ignored {
 public:
  Ignored(const HfConfig& settings, std::string where) : settings_(settings), where_(std::move(where)) {
    add("exponential_decay_length_penalty", settings.has("exponential_decay_length_penalty"));
    add("early_stopping", settings.says("early_stopping", "never"));
    for (const auto& [key, neutral] : {std::pair("num_beam_groups", 1.0), std::pair("diversity_penalty", 0.0)})
      add_unless(key, neutral);
  }
  void add(const char* key, bool asked) {
    if (asked) messages.push_back(fmt::format("{}: '{}' is ignored in {}", settings_.file(), key, where_));
  }
  void add_unless(const char* key, double neutral) { add(key, settings_.number(key, neutral) != neutral); }

  std::vector<std::string> messages = {};

 private:
  const HfConfig& settings_;
  std::string where_;
};

}  // namespace

TranslateOptions translate_defaults(const fs::path& folder) {
  return translate_defaults(*open_model_folder(folder));
}

TranslateOptions translate_defaults(const ModelFolder& folder) {
  TranslateOptions all;
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return all;
  const HfConfig& s = *settings;
  SearchOptions& o = all.search;
  visit_options(o, ReadKeys{s});
  o.length_normalization = LengthNormalization::power;
  o.early_stopping = !s.says("early_stopping", "never") && s.flag("early_stopping", false);
  o.eos_at_max_length = false;
  // Lengths in the file count eos, if it is forced; all except those of new tokens also count the first token of every
  // answer.
  o.min_length = std::max<int64_t>(s.index("min_length", 0) - 1, 0);
  if (s.has("max_new_tokens"))
    o.max_length = std::max<int64_t>(s.count("max_new_tokens") - forced_end(s), 1);
  else if (s.has("max_length"))
    o.max_length = std::max<int64_t>(s.count("max_length") - 1 - forced_end(s), 1);
  check_settings(all, s.file());
  return all;
}

GenerateTextOptions generate_defaults(const fs::path& folder) {
  return generate_defaults(*open_model_folder(folder));
}

GenerateTextOptions generate_defaults(const ModelFolder& folder) {
  GenerateTextOptions o;
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return o;
  const HfConfig& s = *settings;
  o.sampling = read_sampling(s);
  check_settings(o, s.file());
  option_table::visit_lengths(o, ReadKeys{s});
  option_table::visit_beam(o, ReadKeys{s});
  o.length_normalization = LengthNormalization::power;
  if (is_sampling(s)) o.beam = 1;
  if (o.beam > 1) o.sampling = {};
  if (s.has("max_new_tokens")) o.max_tokens = std::max<int64_t>(s.count("max_new_tokens") - forced_end(s), 1);
  check_settings(o, s.file());
  return o;
}

GenerateTextOptions defaults_for(const GenerateTextOptions& given, const std::set<std::string>& names,
                                 GenerateTextOptions of_model) {
  bool samples = names.contains("stop") || names.contains("lookup");  // which a beam search excludes, too
  for (const std::string& name : sampling_names()) samples |= names.contains(name);
  of_model.beam = names.contains("beam") ? given.beam : samples ? 1 : of_model.beam;
  if (of_model.beam != 1) {
    of_model.sampling = {};
  } else if (of_model.sampling.temperature == 0) {
    const std::map<std::string, double> asked = limits_of(given.sampling), has = limits_of(of_model.sampling);
    for (const auto& [name, limit] : asked)
      if (names.contains(name) && limit != has.at(name)) of_model.sampling.temperature = 1;
  }
  return of_model;
}

std::vector<std::string> ignored_by_translate(const fs::path& folder) {
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return {};
  Ignored ignored(*settings, "translations");
  ignored.add("do_sample", is_sampling(*settings));
  ignored.add_unless("repetition_penalty", 1);
  return ignored.messages;
}

std::vector<std::string> ignored_by_generate(const fs::path& folder) {
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return {};
  const HfConfig& s = *settings;
  Ignored ignored(s, "generated texts");
  if (is_sampling(s)) {
    ignored.add("num_beams", beams(s) > 1);
    for (const auto& [key, neutral] :
         {std::pair("typical_p", 1.0), std::pair("epsilon_cutoff", 0.0), std::pair("eta_cutoff", 0.0)})
      ignored.add_unless(key, neutral);
  } else if (beams(s) > 1) {
    ignored.add_unless("repetition_penalty", 1);
    ignored.add_unless("no_repeat_ngram_size", 0);
  }
  return ignored.messages;
}

std::string generation_settings(const ModelFolder& folder) {
  const auto stored = folder.generation_config();
  if (!stored) return "";
  if (fs::path(stored->file).filename() == "generation_config.json") return stored->json;
  const Json config = parse_json_object(without_bare_infinities(stored->json), stored->file);
  Json settings = Json::object();
  const auto copy = [&](const char* key) {
    if (config.contains(key)) settings[key] = config[key];
  };
  const auto copy_key_of = [&](const Setting& setting, const auto&) { copy(setting.key); };
  const SearchOptions search;
  const GenerateTextOptions generate;
  visit_options(search, copy_key_of);
  visit_options(generate, copy_key_of);
  for (const char* key : other_keys) copy(key);
  return settings.dump(2) + "\n";
}

}  // namespace qkv
