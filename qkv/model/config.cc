#include "qkv/model/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/model/architecture_table.h"

namespace qkv {
namespace {

// A key of config.json. Rare ones are of published families, and written only when not the default. Fields that are
// settings of the architecture have their ranges in architecture_table.h.
struct Key {
  const char* name;
  Range range = {};
  bool rare = false;
};

// visitor(key, field) for every field that the architecture has, for writing and reading.
template <class Config, class Visitor>
void visit(Config& c, Visitor&& visitor) {
  const auto visit_key = [&](const Key& key, auto& value) {
    if (has_setting(c.architecture, key.name)) visitor(key, value);
  };
  const auto field = [&](const char* key, auto& value, const Range& range = {}) {
    visit_key({.name = key, .range = range}, value);
  };
  const auto rare = [&](const char* key, auto& value, const Range& range = {}) {
    visit_key({.name = key, .range = range, .rare = true}, value);
  };
  constexpr double largest = 1 << 24;
  field("source_vocabulary", c.source_vocabulary, {.from = 1, .to = largest});
  field("target_vocabulary", c.target_vocabulary, {.from = 1, .to = largest});
  field("d_model", c.d_model);
  field("heads", c.heads);
  field("kv_heads", c.kv_heads);
  field("head_width", c.head_width);
  field("ffn", c.ffn);
  field("encoder_layers", c.encoder_layers);
  field("decoder_layers", c.decoder_layers);
  field("dropout", c.dropout);
  field("attention_dropout", c.attention_dropout);
  field("ffn_dropout", c.ffn_dropout);
  field("norm_order", c.norm_order);
  field("norm_kind", c.norm_kind);
  field("norm_eps", c.norm_eps);
  field("activation", c.activation);
  field("gated_ffn", c.gated_ffn);
  field("positions", c.positions);
  field("tie", c.tie);
  field("attention_bias", c.attention_bias);
  field("ffn_bias", c.ffn_bias);
  field("query_key_norm", c.query_key_norm);
  field("encoder_self_attention", c.self_attention.encoder);
  field("decoder_self_attention", c.self_attention.decoder);
  field("cross_attention", c.cross_attention);
  field("max_positions", c.max_positions);
  rare("attention_output_bias", c.attention_output_bias);
  rare("decoder_heads", c.decoder_heads, {.from = 0, .to = largest});
  rare("decoder_ffn", c.decoder_ffn, {.from = 0, .to = largest});
  rare("norm_weight_offset", c.norm_weight_offset, {.from = -1e4, .to = 1e4});
  rare("embedding_width", c.embedding_width, {.from = 0, .to = 65536});
  rare("embedding_scale", c.embedding_scale, {.from = 0, .to = 1e6});
  rare("embedding_norm", c.embedding_norm);
  rare("token_types", c.token_types, {.from = 0, .to = 65536});
  rare("position_offset", c.position_offset, {.from = 0, .to = 65536});
  rare("sinusoids", c.sinusoids);
  rare("head", c.head);
  rare("head_activation", c.head_activation);
  rare("output_bias", c.output_bias);
  rare("output_scale", c.output_scale, {.from = 1e-6, .to = 1e6});
  rare("logit_softcap", c.logit_softcap, {.from = 0, .to = 1e6});
  rare("context_length", c.context_length, {.from = 0, .to = largest});
}

std::string spelled_as_flag(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

struct Writer {
  Json& json;
  template <class T>
  void operator()(const Key& key, const T& value) {
    json[key.name] = value;
  }
  template <WithNames Enum>
  void operator()(const Key& key, const Enum& value) {
    json[key.name] = name_of(value);
  }
  void operator()(const Key& key, const AttentionPattern& value) { json[key.name] = to_string(value); }
  template <class T>
  void operator()(const Key& key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
};

struct Reader {
  const Json& json;
  std::string_view where;
  std::vector<std::string_view> known;

  // The value of the key; null: not in the file.
  const Json* find(const char* key) {
    known.push_back(key);
    return json.find(key);
  }
  void operator()(const Key& key, int64_t& value) {
    const Json* j = find(key.name);
    if (!j) return;
    require<InputError>(j->is_number_integer() && (!j->is_number_unsigned() || j->get<uint64_t>() <= INT64_MAX),
                        where, "'{}' must be an integer, got {}", key.name, shown_json(*j));
    value = j->get<int64_t>();
  }
  void operator()(const Key& key, float& value) {
    const Json* j = find(key.name);
    if (!j) return;
    require<InputError>(j->is_number(), where, "'{}' must be a number, got {}", key.name, shown_json(*j));
    value = j->get<float>();
  }
  void operator()(const Key& key, bool& value) {
    const Json* j = find(key.name);
    if (!j) return;
    require<InputError>(j->is_boolean(), where, "'{}' must be true or false, got {}", key.name, shown_json(*j));
    value = j->get<bool>();
  }
  template <class T>
  void operator()(const Key& key, std::optional<T>& value) {
    if (!json.contains(key.name)) return known.push_back(key.name);
    (*this)(key, value.emplace());
  }
  template <WithNames Enum>
  void operator()(const Key& key, Enum& value) {
    const Json* j = find(key.name);
    if (!j) return;
    value = value_named<Enum, InputError>(j->is_string() ? j->get<std::string>() : j->dump(), where,
                                          fmt::format("'{}'", key.name));
  }
  void operator()(const Key& key, AttentionPattern& value) {
    const Json* j = find(key.name);
    if (!j) return;
    require<InputError>(j->is_string(), where, "'{}' must be a string, got {}", key.name, shown_json(*j));
    as_input_error([&] { value = attention_pattern(j->get<std::string>(), fmt::format("'{}'", key.name)); });
  }
  // A UsageError of the command line is an InputError in a file.
  template <class Action>
  void as_input_error(Action action) const {
    try {
      action();
    } catch (const UsageError& e) {
      fail<InputError>(where, "{}", e.what());
    }
  }
};

// Keys of files of version 0.1: "self_attention" is for encoder and decoder, "max_length" is max_positions.
void read_old_keys(Reader& reader, TransformerConfig& config) {
  const auto excludes = [&](const char* old, const char* key) {
    require<InputError>(!reader.json.contains(old) || !reader.json.contains(key), reader.where,
                        "'{}' and '{}' cannot be used together", old, key);
  };
  excludes("self_attention", "encoder_self_attention");
  excludes("self_attention", "decoder_self_attention");
  excludes("max_length", "max_positions");
  excludes("masked_head", "head");
  if (reader.json.contains("self_attention")) {
    AttentionPattern both;
    reader({"self_attention"}, both);
    config.self_attention = both;
  }
  if (reader.json.contains("max_length")) reader({"max_length"}, config.max_positions);
  if (reader.json.contains("masked_head")) reader({"masked_head"}, config.head);
}

// The position encodings that are mechanisms; for the others the variant without any.
AttentionVariant mechanism_of_positions(Positions positions) {
  switch (positions) {
    case Positions::rotary: return Rotary{};
    case Positions::alibi: return Alibi{};
    case Positions::relative_bias: return RelativeBias{};
    case Positions::sinusoidal:
    case Positions::learned:
    case Positions::none: break;
  }
  return {};
}

AttentionVariant with_positions(AttentionVariant variant, Positions positions) {
  const AttentionVariant added = mechanism_of_positions(positions);
  for (const AttentionMechanismPtr& mechanism : added.mechanisms()) variant.add(mechanism, "positions");
  return variant;
}

BlockOptions block_options(const TransformerConfig& c, const AttentionPattern& self_attention, int64_t index) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .kv_heads = c.kv_heads,
          .head_width = c.head_width,
          .ffn = c.ffn,
          .norm_order = c.norm_order,
          .norm = c.norm_options(),
          .activation = c.activation,
          .gated_ffn = c.gated_ffn,
          .attention_bias = {.query = c.attention_bias,
                             .key = c.attention_bias,
                             .value = c.attention_bias,
                             .out = c.attention_output_bias.value_or(c.attention_bias)},
          .ffn_bias = c.ffn_bias,
          .query_key_norm = c.query_key_norm,
          .dropout = c.dropout,
          .attention_dropout = c.attention_dropout,
          .ffn_dropout = c.ffn_dropout,
          .self_attention = with_positions(self_attention.of_layer(index), c.positions),
          .cross_attention = c.cross_attention.of_layer(index),
          .index = index};
}

void check_recurrent(const TransformerConfig& c) {
  const std::string_view name = name_of(c.architecture);
  const AttentionPattern none;
  require<UsageError>(c.self_attention.encoder == none && c.self_attention.decoder == none, "model",
                      "a {} model has no self-attention, got '{}'", name, to_string(c.self_attention));
  require<UsageError>(c.cross_attention.groups().size() <= 1, "model",
                      "a {} model has one attention, cross-attention must be one variant, got '{}'", name,
                      to_string(c.cross_attention));
  require<UsageError>(c.architecture != Architecture::bahdanau || c.decoder_layers == 1, "model",
                      "the decoder of a bahdanau model has 1 layer, got decoder-layers {}", c.decoder_layers);
  require<UsageError>(c.architecture != Architecture::luong || c.encoder_layers == c.decoder_layers, "model",
                      "a luong model has as many encoder-layers as decoder-layers, got {} and {}", c.encoder_layers,
                      c.decoder_layers);
  const auto not_chosen = [&](const char* setting, bool chosen) {
    require<UsageError>(!chosen, "model", "{} is for Transformers: a {} model has none", setting, name);
  };
  not_chosen("kv-heads", c.kv_heads != 0);
  not_chosen("head-width", c.head_width != 0);
  not_chosen("query-key-norm", c.query_key_norm);
  not_chosen("gated-ffn", c.gated_ffn);
  not_chosen("attention-dropout", c.attention_dropout != 0);
  not_chosen("ffn-dropout", c.ffn_dropout != 0);
  not_chosen("positions", c.positions != Positions::sinusoidal && c.positions != Positions::none);
  const AttentionVariant variant = c.recurrent_attention();
  const int64_t C = c.d_model, E = c.architecture == Architecture::bahdanau ? 2 * C : C;
  check_variant(variant,
                {.use = AttentionUse::cross,
                 .d_model = C,
                 .head_width = C,
                 .query_width = C,
                 .key_width = E,
                 .value_width = E},
                "cross-attention");
  require<UsageError>(E == C || variant.get<Additive>() || variant.get<Bilinear>() || !variant.reads_keys(),
                      "model",
                      "the encoder states of a bahdanau model are twice as wide as those of its decoder: "
                      "cross-attention must be additive, bilinear or location, got {}",
                      to_string(c.cross_attention));
}

}  // namespace

bool has_setting(Architecture architecture, std::string_view key) {
  constexpr std::string_view recurrent[] = {
      "architecture",   "source_vocabulary", "target_vocabulary", "d_model",        "tie",
      "encoder_layers", "decoder_layers",    "dropout",           "cross_attention"};
  return !is_recurrent(architecture) ||
         std::find(std::begin(recurrent), std::end(recurrent), key) != std::end(recurrent);
}

std::string to_string(const SelfAttention& self_attention) {
  const auto& [encoder, decoder] = self_attention;
  if (encoder == decoder) return to_string(encoder);
  return fmt::format("{} in the encoder, {} in the decoder", to_string(encoder), to_string(decoder));
}

bool TransformerConfig::has_position_limit() const {
  return !is_recurrent(architecture) && (positions == Positions::sinusoidal || positions == Positions::learned);
}

int64_t TransformerConfig::position_limit() const {
  return has_position_limit() ? max_positions : int64_t{1} << 24;
}

int64_t TransformerConfig::default_context() const {
  constexpr int64_t unknown = 4096;
  if (has_position_limit()) return position_limit();
  return context_length > 0 ? context_length : unknown;
}

bool TransformerConfig::depends_on_length() const {
  const auto depends = [](const AttentionPattern& pattern) {
    const auto& groups = pattern.groups();
    return std::any_of(groups.begin(), groups.end(),
                       [](const AttentionPattern::Group& group) { return group.variant.depends_on_length(); });
  };
  return (has_encoder() && depends(self_attention.encoder)) || (has_decoder() && depends(self_attention.decoder));
}

AttentionVariant TransformerConfig::recurrent_attention() const {
  const AttentionVariant variant = cross_attention.of_layer(0);
  if (variant.has(AttentionMechanism::Role::score)) return variant;
  return architecture == Architecture::bahdanau ? variant + Additive{} : variant + Dot{};
}

NormOptions TransformerConfig::norm_options() const {
  return {.kind = norm_kind, .eps = norm_eps, .weight_offset = norm_weight_offset};
}

std::optional<NormOptions> TransformerConfig::final_norm() const {
  if (!needs_final_norm(norm_order)) return {};
  return norm_options();
}

TokenEmbeddingOptions TransformerConfig::embedding_options() const {
  TokenEmbeddingOptions o = {
      .width = d_model,
      .scale = embedding_scale == 0 ? std::sqrt(static_cast<float>(d_model)) : embedding_scale,
      .sinusoids = sinusoids,
      .max_positions = max_positions,
      .position_offset = position_offset,
      .types = token_types,
      .dropout = dropout};
  if (embedding_norm) o.norm = norm_options();
  if (positions == Positions::learned) o.positions = PositionTable::learned;
  if (positions == Positions::sinusoidal) o.positions = PositionTable::sinusoidal;
  return o;
}

OutputProjectionOptions TransformerConfig::output_options() const {
  return {.width = d_model,
          .exists = head,
          .bias = output_bias || architecture == Architecture::masked,
          .scale = output_scale,
          .softcap = logit_softcap};
}

BlockOptions TransformerConfig::encoder_block(int64_t index) const {
  return block_options(*this, self_attention.encoder, index);
}

BlockOptions TransformerConfig::decoder_block(int64_t index) const {
  BlockOptions options = block_options(*this, self_attention.decoder, index);
  if (decoder_heads != 0) options.heads = decoder_heads;
  if (decoder_ffn != 0) options.ffn = decoder_ffn;
  options.use = AttentionUse::decoder;
  options.has_cross_attention = has_encoder();
  return options;
}

std::vector<BlockOptions> TransformerConfig::encoder_blocks() const {
  std::vector<BlockOptions> blocks;
  for (int64_t n = 0; n < encoder_layers; ++n) blocks.push_back(encoder_block(n));
  return blocks;
}

std::vector<BlockOptions> TransformerConfig::decoder_blocks() const {
  std::vector<BlockOptions> blocks;
  for (int64_t n = 0; n < decoder_layers; ++n) blocks.push_back(decoder_block(n));
  return blocks;
}

void TransformerConfig::check() const {
  visit_architecture(*this, CheckRanges{"model"});
  visit(*this, [](const Key& key, const auto& value) {
    CheckRanges{"model"}(Setting{spelled_as_flag(key.name).c_str(), "", "", key.range}, value);
  });
  constexpr int64_t largest_table = int64_t{1} << 28;
  require<UsageError>(positions != Positions::learned || max_positions <= largest_table / d_model, "model",
                      "max-positions {} times d-model {} must be at most {} with learned positions", max_positions,
                      d_model, largest_table);
  require<UsageError>(is_recurrent(architecture) || head_width > 0 || d_model % heads == 0, "model",
                      "heads {} must divide d-model {}, or head-width must be given", heads, d_model);
  require<UsageError>(architecture == Architecture::encoder_decoder || (decoder_heads == 0 && decoder_ffn == 0),
                      "model", "decoder-heads and decoder-ffn are for encoder-decoders, the model is {}",
                      name_of(architecture));
  require<UsageError>(decoder_heads == 0 || ((head_width > 0 || d_model % decoder_heads == 0) &&
                                             (kv_heads == 0 || decoder_heads % kv_heads == 0)),
                      "model", "decoder-heads {} must divide d-model {}, and kv-heads {} must divide it",
                      decoder_heads, d_model, kv_heads);
  require<UsageError>(embedding_width == 0 || architecture == Architecture::causal, "model",
                      "embedding-width is for causal models, got {} for a {} model", embedding_width,
                      name_of(architecture));
  require<UsageError>(kv_heads == 0 || heads % kv_heads == 0, "model", "kv-heads {} must divide heads {}", kv_heads,
                      heads);
  require<UsageError>(!is_language_model(architecture) || source_vocabulary == target_vocabulary, "model",
                      "a {} model has one vocabulary, got {} source and {} target tokens", name_of(architecture),
                      source_vocabulary, target_vocabulary);
  require<UsageError>(!ties_embeddings(tie) || source_vocabulary == target_vocabulary, "model",
                      "tie {} needs one vocabulary, got {} source and {} target tokens", name_of(tie),
                      source_vocabulary, target_vocabulary);
  if (is_recurrent(architecture)) return check_recurrent(*this);
  const bool same = self_attention.encoder == self_attention.decoder;
  const AttentionSize encoder = encoder_block().attention(AttentionUse::encoder).size();
  const AttentionSize decoder = decoder_block().attention(AttentionUse::decoder).size();
  const AttentionSize cross = decoder_block().attention(AttentionUse::cross).size();
  check_variant(mechanism_of_positions(positions), encoder, "'positions'");
  for (const auto& [variant, layers] : self_attention.encoder.groups())
    check_variant(with_positions(variant, positions), encoder, same ? "self-attention" : "encoder-self-attention");
  for (const auto& [variant, layers] : self_attention.decoder.groups())
    check_variant(with_positions(variant, positions), decoder, same ? "self-attention" : "decoder-self-attention");
  for (const auto& [variant, layers] : cross_attention.groups()) check_variant(variant, cross, "cross-attention");
}

std::vector<std::string_view> recipe_names() {
  return {"transformer-tiny", "transformer-small", "transformer-base", "transformer-big", "bahdanau", "luong"};
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
  if (name == "bahdanau" || name == "luong") {
    TransformerConfig c = make(1, 256, 1024, 4, 0.1f);
    c.architecture = name == "luong" ? Architecture::luong : Architecture::bahdanau;
    return c;
  }
  fail<UsageError>("recipe", "must be one of {}, got '{}'{}", name_list(recipe_names()), name,
                   did_you_mean(name, recipe_names()));
}

std::string to_json(const TransformerConfig& config) {
  Json json;
  json["architecture"] = name_of(config.architecture);
  json["format"] = 1;
  visit(config, Writer{json});
  TransformerConfig usual;
  usual.architecture = config.architecture;
  Json defaults;
  visit(usual, Writer{defaults});
  visit(usual, [&](const Key& key, const auto&) {
    if (key.rare && json.contains(key.name) && defaults.contains(key.name) && json[key.name] == defaults[key.name])
      json.erase(key.name);
  });
  return json.dump(2) + "\n";
}

TransformerConfig config_from_json(std::string_view text, std::string_view where) {
  const Json json = parse_json_object(text, where);
  const Json architecture = json.value("architecture");
  TransformerConfig config;
  config.architecture = value_named<Architecture, InputError>(
      architecture.is_string() ? architecture.get<std::string>() : architecture.dump(), where, "'architecture'");
  require<InputError>(json.value("format") == 1, where, "'format' must be 1: written by a newer version?");
  Reader reader{json, where, {"architecture", "format"}};
  visit(config, reader);
  read_old_keys(reader, config);
  for (const auto& [key, value] : json.items())
    if (std::find(reader.known.begin(), reader.known.end(), key) == reader.known.end())
      fail<InputError>(where, "unknown key {}{}", quoted_name(key), did_you_mean(key, reader.known));
  reader.as_input_error([&] { config.check(); });
  return config;
}

}  // namespace qkv
