#include "qkv/model/model_file.h"

#include <algorithm>
#include <sys/stat.h>
#include <system_error>

#include "qkv/base/checksum.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"

namespace qkv {
namespace fs = std::filesystem;

void save_parameters(const fs::path& path, const Model& model, const VocabularyChecksums& sums) {
  std::map<std::string, std::string> metadata = {{"format", "qkv"}, {config_key, to_json(model.config())}};
  metadata.insert(sums.begin(), sums.end());
  NamedTensors tensors;
  Json formats = Json::object();
  model.for_each_parameter([&](const std::string& name, const Parameter& parameter) {
    const StoredValues values = parameter.stored();
    tensors.emplace_back(name, values.tensor());
    if (is_quantized(values.format())) formats.append(name, std::string(name_of(values.format())));
  });
  if (!formats.empty()) metadata[formats_key] = formats.dump();
  save_safetensors(path, tensors, metadata);
}

std::map<std::string, WeightFormat> quantized_tensors(const std::map<std::string, std::string>& metadata,
                                                      const std::string& where) {
  std::map<std::string, WeightFormat> out;
  const auto found = metadata.find(formats_key);
  if (found == metadata.end()) return out;
  const Json formats = parse_json_object(found->second, where);
  for (const auto& [name, format] : formats.items()) {
    require<InputError>(format.is_string(), where, "{} of tensor {} must be the name of a format", formats_key,
                        quoted_name(name));
    const auto is = value_named<WeightFormat, InputError>(format.text(), where, formats_key);
    require<InputError>(is_quantized(is), where, "{} of tensor {} must be a quantised format, got {}", formats_key,
                        quoted_name(name), name_of(is));
    out[name] = is;
  }
  return out;
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

WeightFormat largest_share(const std::map<WeightFormat, int64_t>& numbers) {
  const auto largest = std::max_element(numbers.begin(), numbers.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == numbers.end() ? WeightFormat::f32 : largest->first;
}

WeightFormat held_weights(const Model& model) {
  std::map<WeightFormat, int64_t> numbers;
  model.for_each_parameter([&](const std::string&, const Parameter& parameter) {
    if (parameter.is_matrix()) numbers[parameter.weight().format()] += parameter.shape().numel();
  });
  return largest_share(numbers);
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
