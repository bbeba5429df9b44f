#include "qkv/published/huggingface/huggingface_folder.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/model_file.h"
#include "qkv/published/family/family.h"
#include "qkv/published/family/rope.h"
#include "qkv/published/huggingface/quantized_matrices.h"
#include "qkv/published/published_model_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

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

class HuggingFaceFolder final : public PublishedModelFolder {
 public:
  HuggingFaceFolder(const fs::path& path, HfConfig settings)
      : PublishedModelFolder(path), settings_(std::move(settings)) {}

  void read_parameters(const MakeModel& make, const StoreParameter& store) override {
    try {
      PublishedModelFolder::read_parameters(make, store);
    } catch (const InputError& e) {
      refuse_quantised(e);
      throw;
    }
  }

  WeightFormat stored_weights() const override {
    if (!settings_.has("quantization_config")) return ModelFolder::stored_weights();
    std::map<WeightFormat, int64_t> numbers;
    try {
      const PublishedTensors all = tensors();
      for (const auto& [name, tensor] : all.composed()) numbers[tensor.format] += tensor.shape.numel();
    } catch (const InputError&) {  // as for other incomplete folders
    }
    return numbers.empty() ? ModelFolder::stored_weights() : largest_share(numbers);
  }

  std::optional<SettingsFile> generation_config() const override {
    if (auto settings = ModelFolder::generation_config()) return settings;
    return SettingsFile{read_file(settings_.file(), JsonLimits{}.bytes), settings_.file()};
  }
  std::string family() const override { return settings_.model_type(); }

 private:
  TransformerConfig read_config() override { return huggingface_config(settings_); }

  PublishedModel read_model() override {
    const TransformerConfig config = huggingface_config(settings_);
    return {config, family_of(settings_).tensors(settings_, config), tensors(), settings_.file()};
  }
  PublishedTensors tensors() const {
    PublishedTensors out = PublishedTensors::open(path());
    out.compose(quantized_matrices(out));
    return out;
  }

  Tokenizer read_tokenizer(TokenizerSide side, int64_t rows) override {
    return huggingface_tokenizer(path(), side, rows);
  }

  // Called after reading failed, because a folder may name a method although its weights are not quantised.
  void refuse_quantised(const InputError& error) const {
    if (!settings_.has("quantization_config")) return;
    huggingface_config(settings_);  // what it rejects is also wrong in the model before quantisation
    const std::string method = settings_.part("quantization_config")->text("quant_method", "unknown");
    const bool is_known = method == "compressed-tensors" || method == "bitsandbytes";
    fail<InputError>(
        settings_.file(),
        "the weights are quantised by {} ('quantization_config'), {}; take the model that they were made from, in "
        "f32, f16 or bf16",
        quoted_name(method),
        is_known ? fmt::format("in a way that is not supported: {}", error.what()) : "which is not supported");
  }

  HfConfig settings_;
};

}  // namespace

TransformerConfig huggingface_config(const HfConfig& hf) {
  const Family& family = family_of(hf);
  return checked_config(hf.file(), [&] {
    TransformerConfig config = family.config(hf);
    if (!config.has_position_limit()) config.context_length = read_context_length(hf);
    const bool is_causal = config.architecture != Architecture::causal || hf.flag("is_causal", true);
    return is_causal ? config : as_encoder(hf, config);
  });
}

std::unique_ptr<ModelFolder> open_huggingface(const fs::path& path) {
  const fs::path file = path / config_file;
  if (!file_exists(file)) return nullptr;
  HfConfig settings(read_file(file, JsonLimits{}.bytes), file.string());
  const bool names_type = settings.has("model_type") || settings.is_null("model_type");
  if (!names_type || settings.has("format")) return nullptr;  // "format": of ours
  return std::make_unique<HuggingFaceFolder>(path, std::move(settings));
}

}  // namespace qkv
