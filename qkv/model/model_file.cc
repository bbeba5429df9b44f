#include "qkv/model/model_file.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "qkv/base/checksum.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/check_finite.h"
#include "qkv/model/family/foreign_folder.h"
#include "qkv/model/family/read_family.h"
#include "qkv/model/make_model.h"
#include "qkv/tensor/storage.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr const char* parameter_file = "model.safetensors";
constexpr const char* config_file = "config.json";
constexpr const char* config_key = "config";  // of the metadata

struct ConfigFile {
  TransformerConfig config;
  bool by_hand = false;  // no checksum
};

std::optional<ConfigFile> read_config(const fs::path& path) {
  if (!file_exists(path)) return {};
  const std::string text = read_file(path, JsonLimits{}.bytes), json = without_checksum(text, path.string());
  return ConfigFile{config_from_json(json, path.string()), json == text};
}

void load_parameters(const SafetensorsFile& file, const std::string& name, const Model& model,
                     const StoreParameter& store) {
  std::set<std::string> wanted;
  model.for_each_parameter([&](const std::string& key, const Parameter& parameter) {
    wanted.insert(key);
    const Tensor value = file.get(key, parameter.shape());
    require<InputError>(value.dtype() == DType::f32 || value.dtype() == DType::bf16, name,
                        "tensor '{}' is {}, must be f32 or bf16", key, name_of(value.dtype()));
    check_finite(value, name, key);
    store(parameter, value);
  });
  for (const std::string& key : file.names())
    require<InputError>(wanted.contains(key), name, "tensor {} does not belong to this model", quoted_name(key));
}

SavedModel read_into(const fs::path& folder, const StoreParameter& store) {
  SavedModel saved;
  const auto make = [&](const TransformerConfig& config) -> Model& {
    saved.model = make_model(config);
    return *saved.model;
  };
  saved.sums = read_parameters(folder, make, store);
  return saved;
}

}  // namespace

void save_parameters(const fs::path& path, const Model& model, const VocabularyChecksums& sums) {
  std::map<std::string, std::string> metadata = {{"format", "qkv"}, {config_key, to_json(model.config())}};
  metadata.insert(sums.begin(), sums.end());
  save_safetensors(path, parameters_of(model), metadata);
}

void save_model(const fs::path& folder, const Model& model, const VocabularyChecksums& sums) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(error.value(), folder.string(), "cannot create this folder: " + error.message());
  save_parameters(folder / parameter_file, model, sums);
  const std::string config = with_checksum(to_json(model.config()));
  if (!file_exists(folder / config_file) || read_file(folder / config_file) != config)
    write_file(folder / config_file, config);
}

Transformer load_model(const fs::path& folder) { return load_model_as<Transformer>(folder); }

TransformerConfig load_config(const fs::path& folder) {
  if (is_published(folder)) return read_family_config(folder);
  const std::optional<ConfigFile> written = read_config(find_in_model(folder, config_file));
  if (!written) throw FileError("read", (folder / config_file).string(), ENOENT);
  return written->config;
}

WeightFormat held_weights(const Model& model) {
  WeightFormat held = WeightFormat::f32;
  model.for_each_parameter([&](const std::string&, const Parameter& parameter) {
    if (parameter.is_matrix() && parameter.weight().format() != WeightFormat::f32)
      held = parameter.weight().format();
  });
  return held;
}

WeightFormat stored_weights(const fs::path& folder) {
  const auto is_bf16_matrix = [](const SafetensorsEntry& e) { return e.dtype == "BF16" && e.shape.rank() == 2; };
  try {
    for (const fs::path& file : files_in(folder)) {
      if (file.extension() != ".safetensors") continue;
      const SafetensorsHeader header = read_safetensors_header(file);
      if (std::any_of(header.entries.begin(), header.entries.end(), is_bf16_matrix)) return WeightFormat::bf16;
    }
  } catch (const InputError&) {  // the numbers of an incomplete folder are not described
  }
  return WeightFormat::f32;
}

SavedModel read_model(const fs::path& folder) { return read_into(folder, store_for_training()); }

SavedModel read_model_for_inference(const fs::path& folder, const InferenceOptions& options) {
  SavedModel saved = read_into(folder, store_for_inference(options));
  release_unused_storage();  // of tensors that were converted
  return saved;
}

void check_architecture(const fs::path& folder, Architecture is, Architecture expected) {
  require<InputError>(is == expected, folder.string(), "the architecture of this model is {}, expected {}",
                      name_of(is), name_of(expected));
}

VocabularyChecksums read_parameters(const fs::path& folder, const MakeModel& make, const StoreParameter& store) {
  std::error_code error;
  if (const std::string what = foreign_folder(folder); !what.empty())
    fail<InputError>(folder.string(), "not a model folder: {}", what);
  if (!fs::is_directory(folder, error)) throw FileError(ENOENT, folder.string(), "no such model folder");
  if (is_published(folder)) {
    read_family(folder, make, store);
    return {};
  }
  const fs::path file = find_in_model(folder, parameter_file);
  const std::optional<ConfigFile> written = read_config(find_in_model(folder, config_file));
  require<InputError>(written || file_exists(file), folder.string(), "not a model folder: there is no {} in it",
                      config_file);
  const SafetensorsFile parameters = SafetensorsFile::load(file);
  const auto stored = parameters.metadata().find(config_key);
  const bool is_stored = stored != parameters.metadata().end();
  require<InputError>(written || is_stored, folder.string(), "not a model folder: there is no {} in it",
                      config_file);
  const TransformerConfig config = is_stored && !(written && written->by_hand)
                                       ? config_from_json(stored->second, file.string())
                                       : written->config;
  // Before memory is allocated: every number in the file takes at least two bytes.
  const auto bytes = static_cast<int64_t>(fs::file_size(file, error));
  const Model& model = make(config);
  const int64_t count = model.parameter_count();
  require<InputError>(count <= bytes / 2, file.string(), "{} bytes cannot hold the {} parameters of {}", bytes,
                      count, find_in_model(folder, config_file).string());
  load_parameters(parameters, file.string(), model, store);
  VocabularyChecksums sums;
  for (const char* name : vocabulary_files)
    if (const auto sum = parameters.metadata().find(name); sum != parameters.metadata().end()) sums.insert(*sum);
  return sums;
}

NamedTensors parameters_of(const Model& model) {
  NamedTensors out;
  model.for_each_parameter(
      [&](const std::string& name, const Parameter& parameter) { out.emplace_back(name, parameter.values()); });
  return out;
}

fs::path find_in_model(const fs::path& folder, std::string_view name) {
  const fs::path committed = folder / "training" / "committed" / name;
  return file_exists(committed) ? committed : folder / name;
}

std::string model_stamp(const fs::path& folder) {
  std::string stamp;
  const auto add = [&](const char* name) {
    struct stat status = {};
    const fs::path path = find_in_model(folder, name);
    if (::stat(path.c_str(), &status) != 0) status = {};
    stamp += fmt::format("{} {} {} {}.{}\n", path.string(), status.st_ino, status.st_size, status.st_mtim.tv_sec,
                         status.st_mtim.tv_nsec);
  };
  add(parameter_file);
  add(config_file);
  for (const char* name : vocabulary_files) add(name);
  return stamp;
}

}  // namespace qkv
