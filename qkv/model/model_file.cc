#include "qkv/model/model_file.h"

#include <algorithm>
#include <sys/stat.h>
#include <system_error>

#include "qkv/base/checksum.h"
#include "qkv/base/file.h"

namespace qkv {
namespace fs = std::filesystem;

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

bool is_being_replaced(const fs::path& folder) {
  return find_in_model(folder, config_file) != folder / config_file;
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
