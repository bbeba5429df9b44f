#include "qkv/model/model_file.h"

#include <cerrno>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/model/parameter_groups.h"

namespace qkv {
namespace {

// A number that is not finite makes all of them so that a sentence is computed with.
void check_finite(const Tensor& values, const std::string& where, std::string_view name) {
  for (const float x : values.span<float>())
    if (!std::isfinite(x)) fail<InputError>(where, "tensor {} has the number {}", quoted_name(name), x);
}

}  // namespace

void save_model(const std::filesystem::path& folder, Transformer& model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(error.value(), folder.string(), "cannot make this folder: " + error.message());
  save_safetensors(folder / "model.safetensors", parameters_of(model), {{"format", "qkv"}});
  write_file(folder / "config.json", to_json(model.config()));
}

Transformer load_model(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw FileError(ENOENT, folder.string(), "there is no such model folder");
  const std::filesystem::path config = folder / "config.json";
  require<InputError>(std::filesystem::exists(config, error), folder.string(),
                      "this is not a model folder: it has no config.json");
  const TransformerConfig shape = config_from_json(read_file(config), config.string());
  // Before any memory is taken: a number in the file has two bytes at least.
  const std::filesystem::path file = folder / "model.safetensors";
  const uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error) throw FileError("read", file.string(), error.value());
  const int64_t parameters = parameter_count(shape);
  require<InputError>(static_cast<uintmax_t>(parameters) <= bytes / 2, file.string(),
                      "{} bytes cannot hold the {} parameters that {} asks for", bytes, parameters,
                      config.string());
  Transformer model(shape);
  load_parameters(file, model);
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
    const Tensor value = file.get(name, parameter.shape());
    require<InputError>(value.dtype() == DType::f32 || value.dtype() == DType::bf16, path.string(),
                        "tensor '{}' holds {}, not real numbers", name, name_of(value.dtype()));
    parameter.mutable_value().copy_from(value.to(DType::f32));
    check_finite(std::as_const(parameter.mutable_value()), path.string(), name);
  });
  for (const std::string& name : file.names())
    require<InputError>(wanted.contains(name), path.string(), "tensor {} does not belong to this model",
                        quoted_name(name));
}

}  // namespace qkv
