#include "qkv/model/config.h"

#include <type_traits>

#include "qkv/base/error.h"

namespace qkv {
namespace {

template <class Config, class Either>
auto& as(Either& either) {
  auto* config = std::get_if<Config>(&either);
  if (!config)
    fail<UsageError>("model", "a {} model is not {}",
                     name_of(std::visit([](const auto& c) { return c.architecture; }, either)),
                     std::is_same_v<Config, RecurrentConfig> ? "recurrent" : "a Transformer");
  return *config;
}

}  // namespace

ModelConfig::ModelConfig(TransformerConfig config) : config_(std::move(config)) {
  require<UsageError>(!qkv::is_recurrent(architecture()), "model", "a {} model has a RecurrentConfig",
                      name_of(architecture()));
}

ModelConfig::ModelConfig(RecurrentConfig config) : config_(std::move(config)) {
  require<UsageError>(qkv::is_recurrent(architecture()), "model", "a {} model has a TransformerConfig",
                      name_of(architecture()));
}

const TransformerConfig& ModelConfig::transformer() const& { return as<TransformerConfig>(config_); }
TransformerConfig& ModelConfig::transformer() & { return as<TransformerConfig>(config_); }
const RecurrentConfig& ModelConfig::recurrent() const& { return as<RecurrentConfig>(config_); }
RecurrentConfig& ModelConfig::recurrent() & { return as<RecurrentConfig>(config_); }

Architecture ModelConfig::architecture() const {
  return visit([](const auto& c) { return c.architecture; });
}
int64_t ModelConfig::source_vocabulary() const {
  return visit([](const auto& c) { return c.source_vocabulary; });
}
int64_t ModelConfig::target_vocabulary() const {
  return visit([](const auto& c) { return c.target_vocabulary; });
}
int64_t ModelConfig::d_model() const {
  return visit([](const auto& c) { return c.d_model; });
}
Tie ModelConfig::tie() const {
  return visit([](const auto& c) { return c.tie; });
}
bool ModelConfig::has_head() const { return is_recurrent() || transformer().head; }
int64_t ModelConfig::position_limit() const {
  return is_recurrent() ? unlimited_positions : transformer().position_limit();
}
int64_t ModelConfig::default_context() const {
  return is_recurrent() ? default_context_length : transformer().default_context();
}
bool ModelConfig::depends_on_length() const { return !is_recurrent() && transformer().depends_on_length(); }

void ModelConfig::set_vocabularies(int64_t source, int64_t target) {
  visit([&](auto& c) { c.source_vocabulary = source, c.target_vocabulary = target; });
}

void ModelConfig::check() const {
  visit([](const auto& c) { c.check(); });
}

std::vector<std::string_view> recipe_names() {
  return {"transformer-tiny", "transformer-small", "transformer-base", "transformer-big", "bahdanau", "luong"};
}

ModelConfig recipe(std::string_view name) {
  const auto make = [](int64_t layers, int64_t d_model, int64_t ffn, int64_t heads, float dropout) {
    return TransformerConfig{.d_model = d_model,
                             .heads = heads,
                             .ffn = ffn,
                             .encoder_layers = layers,
                             .decoder_layers = layers,
                             .dropout = dropout};
  };
  if (name == "transformer-tiny") return make(4, 128, 256, 4, 0.1f);
  if (name == "transformer-small") return make(3, 256, 1024, 4, 0.1f);
  if (name == "transformer-base") return make(6, 512, 2048, 8, 0.1f);
  if (name == "transformer-big") return make(6, 1024, 4096, 16, 0.3f);
  for (const Architecture architecture : {Architecture::bahdanau, Architecture::luong})
    if (name == name_of(architecture)) return RecurrentConfig{.architecture = architecture};
  fail<UsageError>("recipe", "must be one of {}, got '{}'{}", name_list(recipe_names()), name,
                   did_you_mean(name, recipe_names()));
}

}  // namespace qkv
