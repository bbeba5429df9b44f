#include "qkv/published/gguf/gguf_folder.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/model_file.h"
#include "qkv/published/gguf/gguf_architecture.h"
#include "qkv/published/gguf/gguf_tokenizer.h"
#include "qkv/published/published_model_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

class GgufModel final : public PublishedModelFolder {
 public:
  explicit GgufModel(const fs::path& path)
      : PublishedModelFolder(path),
        file_(GgufFile::load(path)),
        architecture_(gguf_architecture(file_.metadata())),
        settings_(architecture_.settings(file_.outline()).dump(), path.string()) {
    const int64_t parts = metadata().integer("split.count", 1);
    require<InputError>(parts <= 1, path.string(),
                        "this is one of {} files of a model; join them: llama-gguf-split --merge FIRST ONE", parts);
  }

  std::optional<SettingsFile> generation_config() const override {
    Json json = Json::object();
    if (const std::vector<int32_t> ends = gguf_ends(metadata()); !ends.empty()) json["eos_token_id"] = ends;
    for (const auto& [theirs, ours] : {std::pair("tokenizer.ggml.bos_token_id", "bos_token_id"),
                                       std::pair("tokenizer.ggml.padding_token_id", "pad_token_id"),
                                       std::pair("general.sampling.top_k", "top_k")})
      if (metadata().has(theirs)) json[ours] = metadata().integer(theirs);
    for (const auto& [theirs, ours] :
         {std::pair("general.sampling.top_p", "top_p"), std::pair("general.sampling.temp", "temperature"),
          std::pair("general.sampling.penalty_repeat", "repetition_penalty")})
      if (metadata().has(theirs)) json[ours] = metadata().number(theirs);
    return SettingsFile{json.dump(), path().string()};
  }
  ChatTemplateSource chat_template() const override {
    const std::optional<std::string> text = gguf_chat_template(metadata());
    return {.text = text.value_or(""), .file = text ? path().string() : "no 'tokenizer.chat_template' in the file"};
  }

  std::string family() const override { return std::string(architecture_.model_type); }

  WeightFormat stored_weights() const override {
    std::map<WeightFormat, int64_t> numbers;
    for (const GgufTensor& tensor : file_.tensors())
      if (tensor.shape.rank() == 2)
        numbers[tensor.type->format.value_or(WeightFormat::f32)] += tensor.shape.numel();
    return largest_share(numbers);
  }

 private:
  const GgufMetadata& metadata() const { return file_.metadata(); }

  TransformerConfig read_config() override { return config_of_gguf(settings_); }

  PublishedModel read_model() override {
    const TransformerConfig config = config_of_gguf(settings_);
    return {config, tensors_of_gguf(architecture_, settings_, config), PublishedTensors::of(file_),
            path().string()};
  }

  Tokenizer read_tokenizer(TokenizerSide, int64_t rows) override {
    const std::string start = std::string(architecture_.name) + ".decoder_start_token_id";
    std::optional<int32_t> id;
    if (metadata().has(start)) id = static_cast<int32_t>(std::min<int64_t>(metadata().integer(start), rows));
    return gguf_tokenizer(metadata(), rows, id);
  }

  GgufFile file_;
  const GgufArchitecture& architecture_;
  HfConfig settings_;
};

}  // namespace

std::unique_ptr<ModelFolder> open_gguf(const fs::path& path) {
  if (!is_gguf_file(path)) return nullptr;
  return std::make_unique<GgufModel>(path);
}

std::optional<Pooling> gguf_pooling(const fs::path& path) {
  const GgufFile file = GgufFile::load(path);
  const std::string key = file.metadata().text("general.architecture") + ".pooling_type";
  constexpr int64_t none = 0, mean = 1, cls = 2, last = 3;
  switch (const int64_t type = file.metadata().integer(key, none)) {
    case none: return {};
    case mean: return Pooling::mean;
    case cls: return Pooling::first;
    case last: return Pooling::last;
    default: fail<InputError>(path.string(), "{} must be 0 to 3, got {}", quoted_name(key), type);
  }
}

}  // namespace qkv
