#include "qkv/published/huggingface/sentence_encoder.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json_fields.h"
#include "qkv/published/gguf/gguf_file.h"
#include "qkv/published/gguf/gguf_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr JsonLimits limits = {.depth = 32, .name_bytes = 1000};

Json read_object(const fs::path& file) {
  return parse_json_object(read_file(file, limits.bytes), file.string(), limits);
}

struct EncoderModule {
  std::string type;  // "sentence_transformers.models.Pooling"
  fs::path folder;
};

std::vector<EncoderModule> read_modules(const fs::path& folder) {
  const fs::path file = folder / "modules.json";
  if (!file_exists(file)) return {};
  // A list, wrapped in an object to be read.
  const Json json = parse_json_object("{\"modules\":" + read_file(file, limits.bytes) + "}", file.string());
  require<InputError>(json["modules"].is_array(), file.string(), "it must be a list");
  std::vector<EncoderModule> modules;
  for (const Json& module : json["modules"]) {
    const bool is_named = module.is_object() && module.contains("type") && module["type"].is_string();
    require<InputError>(is_named, file.string(), "a module has no type: {}", shown_json(module));
    const bool has_path = module.contains("path") && module["path"].is_string();
    const auto path = has_path ? module["path"].get<std::string>() : "";
    require<InputError>(path.find('/') == path.npos && path != "..", file.string(),
                        "the path of a module must be a folder of this one, got {}", quoted_name(path));
    modules.push_back({module["type"].get<std::string>(), path.empty() ? folder : folder / path});
  }
  return modules;
}

constexpr std::pair<std::string_view, Pooling> poolings_by_name[] = {
    {"cls", Pooling::first},
    {"max", Pooling::max},
    {"mean", Pooling::mean},
    {"mean_sqrt_len_tokens", Pooling::mean_sqrt_length},
    {"lasttoken", Pooling::last}};

Pooling pooling_named(const Json& name, const std::string& where) {
  for (const auto& [known, pooling] : poolings_by_name)
    if (name == known) return pooling;
  fail<InputError>(where,
                   "the pooling {} is not supported, only cls, max, mean, mean_sqrt_len_tokens and lasttoken",
                   shown_json(name));
}

// {"pooling_mode": "cls"}, or a list of them; before version 5.4 {"pooling_mode_cls_token": true, ...}, in whose fixed
// order several are put side by side.
std::vector<Pooling> read_poolings(const Json& json, const std::string& where) {
  std::vector<Pooling> poolings;
  if (json.contains("pooling_mode")) {
    const Json& mode = json["pooling_mode"];
    if (!mode.is_array()) return {pooling_named(mode, where)};
    for (const Json& name : mode) poolings.push_back(pooling_named(name, where));
    require<InputError>(!poolings.empty(), where, "'pooling_mode' is empty");
    return poolings;
  }
  const std::string prefix = "pooling_mode_";
  std::vector<std::string> asked;  // without the prefix, and "_tokens" and "_token" at the end
  for (const auto& [key, value] : json.items()) {
    if (!key.starts_with(prefix) || value != true) continue;
    std::string name = key.substr(prefix.size());
    for (const std::string_view end : {"_token", "_tokens"})
      if (name != "mean_sqrt_len_tokens" && name.ends_with(end)) name.resize(name.size() - end.size());
    pooling_named(name, where);
    asked.push_back(name);
  }
  for (const auto& [name, pooling] : poolings_by_name)
    if (std::find(asked.begin(), asked.end(), name) != asked.end()) poolings.push_back(pooling);
  if (poolings.empty()) poolings = {Pooling::mean};
  return poolings;
}

void read_pooling_module(SentenceEncoder& encoder, const fs::path& file) {
  const Json json = read_object(file);
  encoder.poolings = read_poolings(json, file.string());
  const bool leaves_out_prompt = json.contains("include_prompt") && json["include_prompt"] == false;
  require<InputError>(!leaves_out_prompt || encoder.prompt.empty(), file.string(),
                      "'include_prompt' false is not supported with the prompt {}", quoted_name(encoder.prompt));
}

void read_sentence_settings(SentenceEncoder& encoder, const fs::path& file) {
  if (!file_exists(file)) return;
  const Json json = read_object(file);
  const JsonFields fields(json, file.string());
  encoder.max_tokens = fields.integer("max_seq_length", 0, {.from = 1, .to = 1 << 24});
  encoder.lowercase = json.contains("do_lower_case") && json["do_lower_case"] == true;
}

std::string read_prompt(const fs::path& file) {
  if (!file_exists(file)) return "";
  const Json json = read_object(file);
  if (!json.contains("default_prompt_name") || json["default_prompt_name"].is_null()) return "";
  const Json& name = json["default_prompt_name"];
  const bool is_there = name.is_string() && json.contains("prompts") && json["prompts"].is_object() &&
                        json["prompts"].contains(name.get<std::string>()) &&
                        json["prompts"][name.get<std::string>()].is_string();
  require<InputError>(is_there, file.string(), "'default_prompt_name' is {}, which is not one of 'prompts'",
                      shown_json(name));
  return json["prompts"][name.get<std::string>()].get<std::string>();
}

}  // namespace

SentenceEncoder read_sentence_encoder(const fs::path& folder) {
  SentenceEncoder encoder;
  if (is_gguf_file(folder)) {
    if (const std::optional<Pooling> pooling = gguf_pooling(folder)) encoder.poolings = {*pooling};
    return encoder;
  }
  encoder.prompt = read_prompt(folder / "config_sentence_transformers.json");
  read_sentence_settings(encoder, folder / "sentence_bert_config.json");
  for (const EncoderModule& module : read_modules(folder)) {
    if (module.type.ends_with(".Normalize")) {
      encoder.normalize = true;
    } else if (module.type.ends_with(".Pooling")) {
      read_pooling_module(encoder, module.folder / "config.json");
    } else {
      require<InputError>(module.type.ends_with(".Transformer"), (folder / "modules.json").string(),
                          "modules of type {} are not supported", quoted_name(module.type));
      if (module.folder != folder) read_sentence_settings(encoder, module.folder / "sentence_bert_config.json");
    }
  }
  return encoder;
}

fs::path encoder_folder(const fs::path& folder) {
  if (file_exists(folder / "config.json")) return folder;
  for (const EncoderModule& module : read_modules(folder))
    if (module.type.ends_with(".Transformer")) return module.folder;
  return folder;
}

}  // namespace qkv
