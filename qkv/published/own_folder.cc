#include "qkv/published/own_folder.h"

#include <cerrno>
#include <set>

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/check_finite.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

struct ConfigFile {
  ModelConfig config;
  bool by_hand = false;  // no checksum
};

std::optional<ConfigFile> read_config_file(const fs::path& path) {
  if (!file_exists(path)) return {};
  const std::string text = read_file(path, JsonLimits{}.bytes), json = without_checksum(text, path.string());
  return ConfigFile{config_from_json(json, path.string()), json == text};
}

StoredValues stored_values(const SafetensorsFile& file, const std::string& key,
                           const std::map<std::string, WeightFormat>& formats, const Parameter& parameter,
                           const std::string& name) {
  const Shape& shape = parameter.shape();
  const auto format = formats.find(key);
  if (format != formats.end()) {
    require<InputError>(parameter.is_matrix(), name, "tensor '{}' is not a matrix, and cannot be {}", key,
                        name_of(format->second));
    const int64_t K = shape[1];
    require<InputError>(K % block_of(format->second).numbers == 0, name,
                        "rows of {} numbers of tensor '{}' are not whole blocks of {}", K, key,
                        name_of(format->second));
    Tensor rows = file.get(key, {shape[0], row_bytes(format->second, K)});
    require<InputError>(rows.dtype() == DType::u8, name, "tensor '{}' is {}, but rows of {} must be u8", key,
                        name_of(rows.dtype()), name_of(format->second));
    return {rows, format->second, K};
  }
  const Tensor value = file.get(key, shape);
  require<InputError>(value.dtype() == DType::f32 || value.dtype() == DType::bf16, name,
                      "tensor '{}' is {}, must be f32 or bf16", key, name_of(value.dtype()));
  return value;
}

void load_parameters(const SafetensorsFile& file, const std::string& name, const Model& model,
                     const StoreParameter& store) {
  std::set<std::string> wanted;
  const auto formats = quantized_tensors(file.metadata(), name);
  model.for_each_parameter([&](const std::string& key, const Parameter& parameter) {
    wanted.insert(key);
    const StoredValues value = stored_values(file, key, formats, parameter, name);
    check_finite(value, name, key);
    store(parameter, value);
  });
  for (const std::string& key : file.names())
    require<InputError>(wanted.contains(key), name, "tensor {} does not belong to this model", quoted_name(key));
}

class OwnFolder final : public ModelFolder {
 public:
  explicit OwnFolder(const fs::path& path) : ModelFolder(path) {}

  bool is_published() const override { return false; }

  const ModelConfig& config() override {
    if (config_) return *config_;
    const std::optional<ConfigFile> written = read_config_file(find_in_model(path(), config_file));
    if (!written) throw FileError("read", (path() / config_file).string(), ENOENT);
    return config_.emplace(written->config);
  }

  void read_parameters(const MakeModel& make, const StoreParameter& store) override {
    const fs::path file = find_in_model(path(), parameter_file), settings = find_in_model(path(), config_file);
    const std::optional<ConfigFile> written = read_config_file(settings);
    const auto require_config = [&](bool is_there) {
      require<InputError>(is_there, path().string(), "not a model folder: there is no {} in it", config_file);
    };
    require_config(written || file_exists(file));
    SafetensorsFile parameters = SafetensorsFile::load(file);
    if (store.maps) parameters.map();
    const auto stored = parameters.metadata().find(config_key);
    const bool is_stored = stored != parameters.metadata().end();
    require_config(written || is_stored);
    const bool takes_stored = is_stored && !(written && written->by_hand);
    config_ = takes_stored ? config_from_json(stored->second, file.string()) : written->config;
    // Before memory is allocated: every number in the file takes at least two bits.
    std::error_code error;
    const auto bytes = static_cast<int64_t>(fs::file_size(file, error));
    const Model& model = make(*config_);
    const int64_t count = model.parameter_count();
    require<InputError>(count / 4 <= bytes, file.string(), "{} bytes cannot hold the {} parameters of {}", bytes,
                        count, settings.string());
    load_parameters(parameters, file.string(), model, store);
    for (const char* name : vocabulary_files)
      if (const auto sum = parameters.metadata().find(name); sum != parameters.metadata().end()) sums_.insert(*sum);
  }

  Tokenizer tokenizer(TokenizerSide side) override {
    return read_own_tokenizer(path(), config().architecture(), side, sums_);
  }

 private:
  std::optional<ModelConfig> config_;
  VocabularyChecksums sums_;  // in model.safetensors, when it has been read
};

}  // namespace

std::unique_ptr<ModelFolder> open_own(const fs::path& path) { return std::make_unique<OwnFolder>(path); }

const char* tokenizer_file(Architecture architecture, TokenizerSide side) {
  if (is_language_model(architecture)) return "tokenizer.model";
  return side == TokenizerSide::source ? "source.model" : "target.model";
}

Tokenizer read_own_tokenizer(const fs::path& folder, Architecture architecture, TokenizerSide side,
                             const VocabularyChecksums& sums) {
  const char* file = tokenizer_file(architecture, side);
  const auto sum = sums.find(file);
  return Tokenizer::load(find_in_model(folder, file), sum == sums.end() ? "" : sum->second);
}

}  // namespace qkv
