#include "qkv/decode/generation_config.h"

#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/model/family/hf_config.h"
#include "qkv/model/family/read_family.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::optional<HfConfig> read_settings(const fs::path& folder) {
  const fs::path config = folder / "config.json", generation = folder / "generation_config.json";
  if (!is_published(folder) || !file_exists(config)) return {};
  const fs::path& file = file_exists(generation) ? generation : config;
  return HfConfig(read_file(file, JsonLimits{}.bytes), file.string());
}

// Checks options that a file has set; the user has given none.
template <class Options>
void check_settings(const Options& options, const std::string& file) {
  try {
    check_options(options);
  } catch (const UsageError& e) {
    fail<InputError>(file, "{}", e.what());
  }
}

}  // namespace

TranslateOptions translate_defaults(const fs::path& folder) {
  TranslateOptions o;
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return o;
  const HfConfig& s = *settings;
  o.beam = s.count("num_beams", o.beam);
  o.length_penalty = s.number("length_penalty", 1.0);
  o.length_normalization = LengthNormalization::power;
  o.no_repeat_ngram = s.index("no_repeat_ngram_size", 0);
  o.early_stopping = s.has("early_stopping") && s.flag("early_stopping", false);
  o.eos_at_max_length = false;
  // Lengths there count the end, if it is forced, and all but that of new tokens the token that every answer begins with.
  o.min_length = std::max<int64_t>(s.index("min_length", 0) - 1, 0);
  const int64_t forced_end = s.has("forced_eos_token_id") ? 1 : 0;
  if (s.has("max_new_tokens"))
    o.max_length = std::max<int64_t>(s.count("max_new_tokens") - forced_end, 1);
  else if (s.has("max_length"))
    o.max_length = std::max<int64_t>(s.count("max_length") - 1 - forced_end, 1);
  check_settings(o, s.file());
  return o;
}

GenerateTextOptions generate_defaults(const fs::path& folder) {
  GenerateTextOptions o;
  const std::optional<HfConfig> settings = read_settings(folder);
  if (!settings) return o;
  const HfConfig& s = *settings;
  o.sampling.temperature = s.number("temperature", o.sampling.temperature);
  o.sampling.top_k = s.index("top_k", o.sampling.top_k);
  o.sampling.top_p = s.number("top_p", o.sampling.top_p);
  o.sampling.min_p = s.number("min_p", o.sampling.min_p);
  if (s.has("do_sample") && !s.flag("do_sample", true)) o.sampling = {.temperature = 0};
  o.sampling.repetition_penalty = s.number("repetition_penalty", o.sampling.repetition_penalty);
  o.sampling.no_repeat_ngram = s.index("no_repeat_ngram_size", 0);
  o.length_normalization = LengthNormalization::power;
  o.length_penalty = s.number("length_penalty", 1.0);
  o.max_tokens = s.count("max_new_tokens", o.max_tokens);
  o.min_tokens = s.index("min_new_tokens", 0);
  check_settings(o, s.file());
  return o;
}

}  // namespace qkv
