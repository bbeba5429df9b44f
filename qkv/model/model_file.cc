#include "qkv/model/model_file.h"

#include <set>
#include <system_error>

#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv {

void save_model(const std::filesystem::path& folder, Transformer& model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require<InputError>(!error, folder.string(), "cannot make this folder: {}", error.message());
  save_safetensors(folder / "model.safetensors", parameters_of(model), {{"format", "qkv"}});
  write_file(folder / "config.json", to_json(model.config()));
}

Transformer load_model(const std::filesystem::path& folder) {
  std::error_code error;
  require<InputError>(std::filesystem::is_directory(folder, error), folder.string(),
                      "there is no such model folder");
  const std::filesystem::path config = folder / "config.json";
  require<InputError>(std::filesystem::exists(config, error), folder.string(),
                      "this is not a model folder: it has no config.json");
  Transformer model(config_from_json(read_file(config), config.string()), /*seed=*/0);
  load_parameters(folder / "model.safetensors", model);
  return model;
}

NamedTensors parameters_of(Transformer& model) {
  NamedTensors out;
  model.visit([&](const std::string& name, Variable& parameter) { out.emplace_back(name, parameter.value()); });
  return out;
}

void load_parameters(const std::filesystem::path& path, Transformer& model) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  std::set<std::string> wanted;
  model.visit([&](const std::string& name, Variable& parameter) {
    wanted.insert(name);
    parameter.mutable_value().copy_from(file.get(name, parameter.shape()));
  });
  for (const std::string& name : file.names())
    require<InputError>(wanted.contains(name), path.string(), "tensor '{}' does not belong to this model", name);
}

}  // namespace qkv
