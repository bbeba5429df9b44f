#include "qkv/model/config.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/json.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// One visit serves writing and reading: visitor(key, field) for every field.
template <class Config, class Visitor>
void visit(Config& c, Visitor&& visitor) {
  visitor("source_vocabulary", c.source_vocabulary);
  visitor("target_vocabulary", c.target_vocabulary);
  visitor("d_model", c.d_model);
  visitor("heads", c.heads);
  visitor("kv_heads", c.kv_heads);
  visitor("ffn", c.ffn);
  visitor("encoder_layers", c.encoder_layers);
  visitor("decoder_layers", c.decoder_layers);
  visitor("dropout", c.dropout);
  visitor("attention_dropout", c.attention_dropout);
  visitor("ffn_dropout", c.ffn_dropout);
  visitor("norm_order", c.norm_order);
  visitor("activation", c.activation);
  visitor("positions", c.positions);
  visitor("tie", c.tie);
  visitor("attention_bias", c.attention_bias);
  visitor("self_attention", c.self_attention);
  visitor("cross_attention", c.cross_attention);
  visitor("max_length", c.max_length);
}

struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& value) {
    if constexpr (std::is_same_v<T, float>) {
      json[key] = std::stod(fmt::format("{}", value));  // 0.1, not 0.10000000149
    } else {
      json[key] = value;
    }
  }
  template <WithNames Enum>
  void operator()(const char* key, const Enum& value) {
    json[key] = name_of(value);
  }
  void operator()(const char* key, const AttentionVariant& value) { json[key] = to_string(value); }
};

struct Reader {
  const Json& json;
  std::string_view where;
  std::vector<std::string_view> known;

  // The key's value, or null when the file leaves it at its default.
  const Json* find(const char* key) {
    known.push_back(key);
    const auto at = json.find(key);
    return at == json.end() ? nullptr : &*at;
  }
  void operator()(const char* key, int64_t& value) {
    const Json* j = find(key);
    if (!j) return;
    require<InputError>(j->is_number_integer() && (!j->is_number_unsigned() || j->get<uint64_t>() <= INT64_MAX),
                        where, "'{}' must be an integer, got {}", key, shown_json(*j));
    value = j->get<int64_t>();
  }
  void operator()(const char* key, float& value) {
    const Json* j = find(key);
    if (!j) return;
    require<InputError>(j->is_number(), where, "'{}' must be a number, got {}", key, shown_json(*j));
    value = j->get<float>();
  }
  void operator()(const char* key, bool& value) {
    const Json* j = find(key);
    if (!j) return;
    require<InputError>(j->is_boolean(), where, "'{}' must be true or false, got {}", key, shown_json(*j));
    value = j->get<bool>();
  }
  template <WithNames Enum>
  void operator()(const char* key, Enum& value) {
    const Json* j = find(key);
    if (!j) return;
    value = value_named<Enum, InputError>(j->is_string() ? j->get<std::string>() : j->dump(), where,
                                          fmt::format("'{}'", key));
  }
  void operator()(const char* key, AttentionVariant& value) {
    const Json* j = find(key);
    if (!j) return;
    require<InputError>(j->is_string(), where, "'{}' must be a text, got {}", key, shown_json(*j));
    as_input_error([&] { value = attention_variant(j->get<std::string>(), fmt::format("'{}'", key)); });
  }
  // What is wrong usage on the command line is bad input in a file.
  template <class Action>
  void as_input_error(Action action) const {
    try {
      action();
    } catch (const UsageError& e) {
      fail<InputError>(where, "{}", e.what());
    }
  }
};

// With the word of positions that are no vectors.
AttentionVariant with_positions(AttentionVariant variant, Positions positions) {
  if (positions != Positions::rotary && positions != Positions::alibi && positions != Positions::t5) return variant;
  const AttentionVariant word = attention_variant(name_of(positions));
  variant.add(word.parts().front(), "positions");
  return variant;
}

}  // namespace

LayerOptions TransformerConfig::layer() const {
  return {.width = d_model,
          .heads = heads,
          .kv_heads = kv_heads,
          .hidden = ffn,
          .norm_order = norm_order,
          .activation = activation,
          .dropout = dropout,
          .attention_dropout = attention_dropout,
          .hidden_dropout = ffn_dropout,
          .attention_bias = attention_bias,
          .self_attention = with_positions(self_attention, positions),
          .cross_attention = cross_attention,
          .name = {}};
}

void TransformerConfig::check() const {
  const auto positive = [](const char* name, int64_t value) {
    constexpr int64_t most = int64_t{1} << 24;
    require<UsageError>(value >= 1 && value <= most, "model", "{} must be 1 to {}, got {}", name, most, value);
  };
  positive("source-vocabulary", source_vocabulary);
  positive("target-vocabulary", target_vocabulary);
  positive("d-model", d_model);
  positive("heads", heads);
  positive("ffn", ffn);
  positive("encoder-layers", encoder_layers);
  positive("decoder-layers", decoder_layers);
  positive("max-length", max_length);
  require<UsageError>(encoder_layers <= 1000 && decoder_layers <= 1000, "model", "at most 1000 layers, got {} + {}",
                      encoder_layers, decoder_layers);
  constexpr int64_t most_positions = int64_t{1} << 28;
  require<UsageError>(max_length <= most_positions / d_model, "model",
                      "max-length {} times d-model {} must be at most {}: every position has a vector", max_length,
                      d_model, most_positions);
  require<UsageError>(d_model % heads == 0, "model", "heads {} must divide d-model {}", heads, d_model);
  require<UsageError>(kv_heads >= 0 && (kv_heads == 0 || heads % kv_heads == 0), "model",
                      "kv-heads {} must divide heads {}", kv_heads, heads);
  for (const float rate : {dropout, attention_dropout, ffn_dropout})
    require<UsageError>(rate >= 0 && rate < 1, "model", "a dropout rate must be in [0, 1), got {}", rate);
  const LayerOptions options = layer();
  check_variant(options.self_attention, options.attention(AttentionUse::encoder).size(), "self-attention");
  check_variant(options.self_attention, options.attention(AttentionUse::decoder).size(), "self-attention");
  check_variant(options.cross_attention, options.attention(AttentionUse::cross).size(), "cross-attention");
  require<UsageError>(tie != Tie::all || source_vocabulary == target_vocabulary, "model",
                      "tie 'all' needs one vocabulary, got {} source and {} target tokens", source_vocabulary,
                      target_vocabulary);
}

std::vector<std::string_view> recipe_names() {
  return {"transformer-tiny", "transformer-small", "transformer-base", "transformer-big"};
}

TransformerConfig recipe(std::string_view name) {
  const auto make = [](int64_t layers, int64_t d_model, int64_t ffn, int64_t heads, float dropout) {
    TransformerConfig c;
    c.encoder_layers = c.decoder_layers = layers;
    c.d_model = d_model;
    c.ffn = ffn;
    c.heads = heads;
    c.dropout = dropout;
    return c;
  };
  if (name == "transformer-tiny") return make(4, 128, 256, 4, 0.1f);
  if (name == "transformer-small") return make(3, 256, 1024, 4, 0.1f);
  if (name == "transformer-base") return make(6, 512, 2048, 8, 0.1f);
  if (name == "transformer-big") return make(6, 1024, 4096, 16, 0.3f);
  fail<UsageError>("recipe", "must be one of {}, got '{}'{}", name_list(recipe_names()), name,
                   did_you_mean(name, recipe_names()));
}

std::string to_json(const TransformerConfig& config) {
  Json json;
  json["architecture"] = "transformer";
  json["format"] = 1;
  visit(config, Writer{json});
  return json.dump(2) + "\n";
}

TransformerConfig config_from_json(std::string_view text, std::string_view where) {
  const Json json = parse_json_object<Json>(text, where);
  require<InputError>(json.value("architecture", Json()) == "transformer", where,
                      "'architecture' must be \"transformer\": this is not a model of this program");
  require<InputError>(json.value("format", Json()) == 1, where, "'format' must be 1: written by a newer version?");
  TransformerConfig config;
  Reader reader{json, where, {"architecture", "format"}};
  visit(config, reader);
  for (const auto& [key, value] : json.items())
    if (std::find(reader.known.begin(), reader.known.end(), key) == reader.known.end())
      fail<InputError>(where, "unknown key {}{}", quoted_name(key), did_you_mean(key, reader.known));
  reader.as_input_error([&] { config.check(); });
  return config;
}

}  // namespace qkv
