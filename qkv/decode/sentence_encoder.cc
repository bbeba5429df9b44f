#include "qkv/decode/sentence_encoder.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

Json read_object(const fs::path& file) {
  return parse_json_object(read_file(file, JsonLimits{}.bytes), file.string());
}

// In the order in which sentence-transformers puts them side by side.
std::vector<Pooling> read_poolings(const fs::path& file) {
  const Json json = read_object(file);
  std::vector<Pooling> poolings;
  for (const auto& [key, pooling] :
       {std::pair("pooling_mode_cls_token", Pooling::first), std::pair("pooling_mode_max_tokens", Pooling::max),
        std::pair("pooling_mode_mean_tokens", Pooling::mean),
        std::pair("pooling_mode_mean_sqrt_len_tokens", Pooling::mean_sqrt_length),
        std::pair("pooling_mode_lasttoken", Pooling::last)})
    if (json.contains(key) && json[key] == true) poolings.push_back(pooling);
  require<InputError>(
      !json.contains("pooling_mode_weightedmean_tokens") || json["pooling_mode_weightedmean_tokens"] != true,
      file.string(), "'pooling_mode_weightedmean_tokens' is not supported");
  return poolings;
}

}  // namespace

SentenceEncoder read_sentence_encoder(const fs::path& folder) {
  SentenceEncoder encoder;
  const fs::path modules = folder / "modules.json", lengths = folder / "sentence_bert_config.json";
  if (file_exists(lengths)) {
    const Json json = read_object(lengths);
    if (const Json* at = json.find("max_seq_length"); at && !at->is_null()) {
      require<InputError>(at->is_number_integer() && at->get<int64_t>() >= 1 && at->get<int64_t>() <= 1 << 24,
                          lengths.string(), "'max_seq_length' must be 1 to {}, got {}", 1 << 24, shown_json(*at));
      encoder.max_tokens = at->get<int64_t>();
    }
  }
  if (!file_exists(modules)) return encoder;
  // A list, which is read as an object that holds it.
  const Json json =
      parse_json_object("{\"modules\":" + read_file(modules, JsonLimits{}.bytes) + "}", modules.string());
  require<InputError>(json["modules"].is_array(), modules.string(), "it must be a list");
  for (const Json& module : json["modules"]) {
    const bool is_named = module.is_object() && module.contains("type") && module["type"].is_string();
    require<InputError>(is_named, modules.string(), "a module has no type: {}", shown_json(module));
    const auto type = module["type"].get<std::string>();
    if (type.ends_with(".Normalize")) {
      encoder.normalize = true;
    } else if (type.ends_with(".Pooling")) {
      const bool has_path = module.contains("path") && module["path"].is_string();
      const auto path = has_path ? module["path"].get<std::string>() : "";
      require<InputError>(path.find('/') == path.npos && path != "..", modules.string(),
                          "the path of a module must be a folder of this one, got {}", quoted_name(path));
      encoder.poolings = read_poolings(folder / path / "config.json");
    } else {
      require<InputError>(type.ends_with(".Transformer"), modules.string(), "modules of type {} are not supported",
                          quoted_name(type));
    }
  }
  return encoder;
}

}  // namespace qkv
