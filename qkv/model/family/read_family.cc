#include "qkv/model/family/read_family.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/model/family/ctranslate2.h"
#include "qkv/model/family/family.h"
#include "qkv/model/family/llama2c.h"
#include "qkv/model/family/marian_folder.h"
#include "qkv/model/family/min_gpt.h"
#include "qkv/model/family/published_parameters.h"
#include "qkv/model/family/rope.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_file = "config.json";

HfConfig open_config(const fs::path& folder) {
  const fs::path path = folder / config_file;
  return {read_file(path, JsonLimits{}.bytes), path.string()};
}

// A decoder with `is_causal` false also sees later tokens: it is an encoder of sentences, such as gte-Qwen2.
TransformerConfig as_encoder(const HfConfig& hf, TransformerConfig c) {
  using Role = AttentionMechanism::Role;
  for (const auto& [variant, layers] : c.self_attention.decoder.groups())
    if (variant.has(Role::mask) || variant.has(Role::position_bias) || c.positions == Positions::alibi)
      hf.refuse("is_causal", "attention to later tokens is not supported with windows or ALiBi");
  c.architecture = Architecture::masked;
  c.head = false;
  c.self_attention = {c.self_attention.decoder, {}};
  return c;
}

TransformerConfig config_of(const HfConfig& hf) {
  const Family& family = family_of(hf);
  return checked_config(hf.file(), [&] {
    TransformerConfig config = family.config(hf);
    if (!config.has_position_limit()) config.context_length = read_context_length(hf);
    const bool is_causal = config.architecture != Architecture::causal || hf.flag("is_causal", true);
    return is_causal ? config : as_encoder(hf, config);
  });
}

// Formats other than Hugging Face's.
struct Format {
  bool (*is_in)(const fs::path& folder);
  PublishedModel (*read)(const fs::path& folder);
};
constexpr Format formats[] = {{is_ctranslate2_folder, read_ctranslate2},
                              {is_marian_folder, read_marian},
                              {is_llama2c_folder, read_llama2c},
                              {is_min_gpt_folder, read_min_gpt}};

const Format* format_of(const fs::path& folder) {
  for (const Format& format : formats)
    if (format.is_in(folder)) return &format;
  return nullptr;
}

// Called after reading failed, because a folder may name a method although its weights are not quantised.
void refuse_quantised(const fs::path& folder) {
  if (format_of(folder) != nullptr || !file_exists(folder / config_file)) return;
  const HfConfig hf = open_config(folder);
  if (!hf.has("quantization_config")) return;
  config_of(hf);  // what it rejects is also wrong in the model before quantisation
  const std::string method = hf.part("quantization_config")->text("quant_method", "unknown");
  fail<InputError>(
      hf.file(),
      "the weights are quantised by {} ('quantization_config'), which is not supported; take the model "
      "that they were made from, in f32, f16 or bf16",
      quoted_name(method));
}

PublishedModel open_published(const fs::path& folder) {
  if (const Format* format = format_of(folder)) return format->read(folder);
  const HfConfig hf = open_config(folder);
  const TransformerConfig config = config_of(hf);
  return {config, family_of(hf).tensors(hf, config), PublishedTensors::open(folder), hf.file()};
}

}  // namespace

bool is_published(const fs::path& folder) {
  if (file_exists(folder / "training" / "committed" / config_file)) return false;  // ours, about to be replaced
  if (format_of(folder) != nullptr) return true;
  const fs::path file = folder / config_file;
  if (!file_exists(file)) return false;
  const HfConfig config = open_config(folder);
  const bool names_type = config.has("model_type") || config.is_null("model_type");
  return names_type && !config.has("format");
}

TransformerConfig read_family_config(const fs::path& folder) {
  return format_of(folder) != nullptr ? open_published(folder).config : config_of(open_config(folder));
}

void read_family(const fs::path& folder, const std::function<Model&(const TransformerConfig&)>& make,
                 const StoreParameter& store) {
  try {
    PublishedModel from = open_published(folder);
    read_published_parameters(from, make, store);
  } catch (const InputError&) {
    refuse_quantised(folder);
    throw;
  }
}

}  // namespace qkv
