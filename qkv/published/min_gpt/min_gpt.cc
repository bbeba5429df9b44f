#include "qkv/published/min_gpt/min_gpt.h"

#include <cstring>

#include "qkv/base/base64.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/published/family/family.h"
#include "qkv/published/published_model_folder.h"
#include "qkv/published/word_vocabulary.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr size_t largest_file = size_t{1} << 31;

fs::path model_file(const fs::path& folder) {
  fs::path file;
  for (const fs::path& path : files_in(folder)) {
    if (!path.filename().string().ends_with("-model.json")) continue;
    if (!file.empty()) return {};
    file = path;
  }
  return file;
}

Tensor tensor_of(const Json& json, const std::string& where) {
  const bool has_fields = json.is_object() && json.contains("shape") && json["shape"].is_array() &&
                          json.contains("data") && json["data"].is_string();
  require<InputError>(has_fields, where, "a tensor must have a shape and data");
  require<InputError>(json.value("dtype") == "torch.float32", where, "its numbers must be torch.float32");
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const Json& size : json["shape"]) {
    const bool fits =
        size.is_number_unsigned() && size.get<uint64_t>() < (1 << 24) && shape.size() < Shape::max_rank;
    require<InputError>(fits, where, "{} is not a valid shape", shown_json(json["shape"]));
    shape.push_back(size.get<int64_t>());
    count *= std::max<int64_t>(shape.back(), 1);
    require<InputError>(count <= int64_t{1} << 32, where, "{} is not a valid shape", shown_json(json["shape"]));
  }
  const std::string bytes = base64_decoded(json["data"].text(), where);
  const Shape sizes(shape);
  require<InputError>(bytes.size() == static_cast<size_t>(sizes.numel()) * sizeof(float), where,
                      "{} bytes do not hold {} numbers", bytes.size(), sizes.numel());
  Tensor out = Tensor::empty(sizes);
  std::memcpy(out.data<float>(), bytes.data(), bytes.size());
  return out;
}

// Matrices are stored as (out, in), unlike GPT-2's, which are (in, out).
bool is_transposed(const std::string& name) {
  for (const char* layer : {".c_attn.weight", ".c_proj.weight", ".c_fc.weight"})
    if (name.ends_with(layer)) return true;
  return false;
}

class MinGptFolder final : public PublishedModelFolder {
 public:
  MinGptFolder(const fs::path& path, fs::path file) : PublishedModelFolder(path), file_(std::move(file)) {}

 private:
  PublishedModel read_model() override {
    const std::string where = file_.string();
    const auto json = parse_json_object(read_file(where, largest_file), where, {.bytes = largest_file});
    require<InputError>(json.contains("config") && json["config"].is_object(), where, "there is no 'config'");
    Json config = json["config"];
    config["model_type"] = "gpt2";
    if (config.contains("block_size")) config["n_positions"] = Json(config["block_size"]);
    std::map<std::string, Tensor> tensors;
    int64_t bytes = 0;
    for (const auto& [name, value] : json.items()) {
      if (name == "config") continue;
      const Tensor tensor = tensor_of(value, fmt::format("{}: {}", where, quoted_name(name)));
      bytes += tensor.numel() * static_cast<int64_t>(sizeof(float));
      tensors[name] = is_transposed(name) && tensor.rank() == 2 ? tensor.transpose(0, 1).contiguous_copy() : tensor;
    }
    const HfConfig hf(config.dump(), where);
    const TransformerConfig ours = checked_config(where, [&] { return family::gpt2.config(hf); });
    return {ours, family::gpt2.tensors(hf, ours), PublishedTensors::of(std::move(tensors), where, bytes), where};
  }

  Tokenizer read_tokenizer(TokenizerSide, int64_t rows) override { return number_tokenizer(path().string(), rows); }

  fs::path file_;
};

}  // namespace

std::unique_ptr<ModelFolder> open_min_gpt(const fs::path& path) {
  if (file_exists(path / "config.json")) return nullptr;
  fs::path file = model_file(path);
  if (file.empty()) return nullptr;
  return std::make_unique<MinGptFolder>(path, std::move(file));
}

Tokenizer number_tokenizer(const std::string& name, int64_t rows) {
  PieceIds ids;
  for (int32_t id = 0; id < rows; ++id) ids[fmt::format("{}", id)] = id;
  const SpecialTokens special = {
      .pad = -1, .bos = -1, .eos = -1, .unk = -1, .ends = {}, .suppressed = {}, .frame = TextFrame(), .rows = rows};
  return Tokenizer(make_json_tokenizer(json_of_words(ids, "", {}), name, special));
}

}  // namespace qkv
