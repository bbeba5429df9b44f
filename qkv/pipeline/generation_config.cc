#include "qkv/pipeline/generation_config.h"

#include "qkv/base/error.h"
#include "qkv/published/huggingface/hf_config.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

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
int64_t beams(const HfConfig& s, int64_t absent) { return s.count("num_beams", absent); }

SamplingOptions read_sampling(const HfConfig& s) {
  SamplingOptions o;
  o.temperature = 0;
  if (is_sampling(s)) {
    o.temperature = s.number("temperature", 1.0);
    o.top_k = s.index("top_k", 50);
    o.top_p = s.number("top_p", o.top_p);
    o.min_p = s.number("min_p", o.min_p);
  }
  o.repetition_penalty = s.number("repetition_penalty", o.repetition_penalty);
  o.no_repeat_ngram = s.index("no_repeat_ngram_size", 0);
  return o;
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
  TranslateOptions o;
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return o;
  const HfConfig& s = *settings;
  o.beam = beams(s, o.beam);
  o.length_penalty = s.number("length_penalty", 1.0);
  o.length_normalization = LengthNormalization::power;
  o.no_repeat_ngram = s.index("no_repeat_ngram_size", 0);
  o.early_stopping = !s.says("early_stopping", "never") && s.flag("early_stopping", false);
  o.eos_at_max_length = false;
  // Lengths in the file count eos, if it is forced; all except those of new tokens also count the first token of every
  // answer.
  o.min_length = std::max<int64_t>(s.index("min_length", 0) - 1, 0);
  if (s.has("max_new_tokens"))
    o.max_length = std::max<int64_t>(s.count("max_new_tokens") - forced_end(s), 1);
  else if (s.has("max_length"))
    o.max_length = std::max<int64_t>(s.count("max_length") - 1 - forced_end(s), 1);
  check_settings(o, s.file());
  return o;
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
  if (!is_sampling(s)) o.beam = beams(s, 1);
  if (o.beam > 1) o.sampling = {};
  o.length_normalization = LengthNormalization::power;
  o.length_penalty = s.number("length_penalty", 1.0);
  if (s.has("max_new_tokens")) o.max_tokens = std::max<int64_t>(s.count("max_new_tokens") - forced_end(s), 1);
  o.min_tokens = s.index("min_new_tokens", 0);
  check_settings(o, s.file());
  return o;
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
    ignored.add("num_beams", beams(s, 1) > 1);
    for (const auto& [key, neutral] :
         {std::pair("typical_p", 1.0), std::pair("epsilon_cutoff", 0.0), std::pair("eta_cutoff", 0.0)})
      ignored.add_unless(key, neutral);
  } else if (beams(s, 1) > 1) {
    ignored.add_unless("repetition_penalty", 1);
    ignored.add_unless("no_repeat_ngram_size", 0);
  }
  return ignored.messages;
}

}  // namespace qkv
