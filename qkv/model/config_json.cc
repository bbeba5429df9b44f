// config.json: every field of the configuration that its architecture has (architecture_table.h).
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/model/architecture_table.h"
#include "qkv/model/config.h"
#include "qkv/model/field_value.h"

namespace qkv {
namespace {

// visitor(key, field, use) for the fields that config.json may have. Settings of another architecture of Transformers are
// read, so that the error says whose they are.
template <class Config, class Visitor>
void visit_file(Config& c, Visitor&& visitor) {
  visit_fields(c, [&](const Setting& setting, auto& field, const FieldUse& use) {
    visitor(key_of(setting, use), field, use);
  });
}

// A UsageError of the command line is an InputError in a file.
template <class Action>
void as_input_error(std::string_view where, Action action) {
  try {
    action();
  } catch (const UsageError& e) {
    fail<InputError>(where, "{}", e.what());
  }
}

struct ConfigReader {
  const Json& json;
  std::string_view where;
  std::vector<std::string> known;

  // The value of the key; null: not in the file.
  const Json* find(const std::string& key) {
    known.push_back(key);
    return json.find(key);
  }
  template <class T>
  void operator()(const std::string& key, T& value, const FieldUse& = {}) {
    if (const Json* j = find(key)) read(key, *j, value);
  }

 private:
  void read(const std::string& key, const Json& j, int64_t& value) const {
    require<InputError>(j.is_number_integer() && (!j.is_number_unsigned() || j.get<uint64_t>() <= INT64_MAX), where,
                        "'{}' must be an integer, got {}", key, shown_json(j));
    value = j.get<int64_t>();
  }
  void read(const std::string& key, const Json& j, float& value) const {
    require<InputError>(j.is_number(), where, "'{}' must be a number, got {}", key, shown_json(j));
    value = j.get<float>();
  }
  void read(const std::string& key, const Json& j, bool& value) const {
    require<InputError>(j.is_boolean(), where, "'{}' must be true or false, got {}", key, shown_json(j));
    value = j.get<bool>();
  }
  template <class T>
  void read(const std::string& key, const Json& j, std::optional<T>& value) const {
    read(key, j, value.emplace());
  }
  template <WithNames Enum>
  void read(const std::string& key, const Json& j, Enum& value) const {
    value = value_named<Enum, InputError>(j.is_string() ? j.get<std::string>() : j.dump(), where,
                                          fmt::format("'{}'", key));
  }
  void read(const std::string& key, const Json& j, AttentionPattern& value) const {
    require<InputError>(j.is_string(), where, "'{}' must be a string, got {}", key, shown_json(j));
    as_input_error(where, [&] { value = attention_pattern(j.get<std::string>(), fmt::format("'{}'", key)); });
  }
  void read(const std::string& key, const Json& j, SelfAttention& value) const {
    AttentionPattern both;
    read(key, j, both);
    value = both;
  }
};

// Keys of files of version 0.1: "self_attention" is for encoder and decoder, "max_length" is max_positions.
void read_old_keys(ConfigReader& reader, TransformerConfig& config) {
  const auto excludes = [&](const char* old, const char* key) {
    require<InputError>(!reader.json.contains(old) || !reader.json.contains(key), reader.where,
                        "'{}' and '{}' cannot be used together", old, key);
  };
  excludes("self_attention", "encoder_self_attention");
  excludes("self_attention", "decoder_self_attention");
  excludes("max_length", "max_positions");
  excludes("masked_head", "head");
  if (reader.json.contains("max_length")) reader("max_length", config.max_positions);
  if (reader.json.contains("masked_head")) reader("masked_head", config.head);
}

void refuse_unknown(const ConfigReader& reader) {
  const std::vector<std::string_view> known(reader.known.begin(), reader.known.end());
  for (const auto& [key, value] : reader.json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail<InputError>(reader.where, "unknown key {}{}", quoted_name(key), did_you_mean(key, known));
}

template <class Config>
std::string json_of(const Config& config) {
  const Config defaults;
  std::map<std::string, Json> usual;
  visit_file(defaults, [&](const std::string& key, const auto& field, const FieldUse&) {
    usual.emplace(key, field_value(field));
  });
  Json json;
  json["architecture"] = name_of(config.architecture);
  json["format"] = 1;
  visit_file(config, [&](const std::string& key, const auto& field, const FieldUse& use) {
    using enum FieldUse::InFile;
    const Json value = field_value(field);
    if (!value.is_null() && (use.file == always || (use.file == when_changed && value != usual[key])))
      json[key] = value;
  });
  return json.dump(2) + "\n";
}

template <class Config>
Config read_config(const Json& json, Architecture architecture, std::string_view where) {
  Config config{.architecture = architecture};
  ConfigReader reader{json, where, {"format"}};
  visit_file(config, reader);
  if constexpr (has_transformer_fields<Config>) read_old_keys(reader, config);
  refuse_unknown(reader);
  as_input_error(where, [&] { config.check(); });
  return config;
}

}  // namespace

std::string to_json(const ModelConfig& config) {
  return config.visit([](const auto& own) { return json_of(own); });
}

ModelConfig config_from_json(std::string_view text, std::string_view where) {
  const Json json = parse_json_object(text, where);
  const Json& name = json.value("architecture");
  const auto architecture = value_named<Architecture, InputError>(
      name.is_string() ? name.get<std::string>() : name.dump(), where, "'architecture'");
  require<InputError>(json.value("format") == 1, where, "'format' must be 1: written by a newer version?");
  if (is_recurrent(architecture)) return read_config<RecurrentConfig>(json, architecture, where);
  return read_config<TransformerConfig>(json, architecture, where);
}

}  // namespace qkv
