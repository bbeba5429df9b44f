#include "qkv/model/family/published_tensors.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr JsonLimits index_limits = {.bytes = 50'000'000, .depth = 8, .name_bytes = 1000};

// The files of an index in their first order, and the file of every tensor.
struct Index {
  std::vector<std::string> files;
  std::map<std::string, std::string> file_of;
};

Index read_index(const fs::path& path) {
  const Json json = parse_json_object(read_file(path, index_limits.bytes), path.string(), index_limits);
  const Json* map = json.find("weight_map");
  require<InputError>(map && map->is_object(), path.string(), "there is no object 'weight_map'");
  Index index;
  for (const auto& [tensor, file] : map->items()) {
    require<InputError>(file.is_string(), path.string(), "the file of tensor {} must be a string, got {}",
                        quoted_name(tensor), shown_json(file));
    const auto name = file.get<std::string>();
    require<InputError>(!name.empty() && name.find('/') == std::string::npos && name.ends_with(".safetensors"),
                        path.string(), "the file of tensor {} must be a safetensors file of this folder, got {}",
                        quoted_name(tensor), quoted_name(name));
    index.file_of[tensor] = name;
    if (std::find(index.files.begin(), index.files.end(), name) == index.files.end()) index.files.push_back(name);
  }
  return index;
}

}  // namespace

PublishedTensors PublishedTensors::open(const fs::path& folder) {
  PublishedTensors out;
  const auto add = [&](const fs::path& path) -> const SafetensorsFile& {
    std::error_code error;
    out.bytes_ += static_cast<int64_t>(fs::file_size(path, error));
    return out.files_.emplace_back(SafetensorsFile::load(path));
  };
  if (file_exists(folder / index_file)) {
    out.where_ = (folder / index_file).string();
    const Index index = read_index(folder / index_file);
    for (const std::string& file : index.files) add(folder / file);
    for (const auto& [tensor, name] : index.file_of) {
      const auto number = std::find(index.files.begin(), index.files.end(), name) - index.files.begin();
      require<InputError>(out.files_[static_cast<size_t>(number)].has(tensor), out.where_, "tensor {} is not in {}",
                          quoted_name(tensor), name);
      out.files_of_[tensor] = static_cast<size_t>(number);
    }
    return out;
  }
  require<InputError>(file_exists(folder / single_file) || !file_exists(folder / "pytorch_model.bin"),
                      folder.string(),
                      "pytorch_model.bin is not read, for such a file can run any code; save the model again with "
                      "save_pretrained(folder, safe_serialization=True) of transformers");
  out.where_ = (folder / single_file).string();
  for (const std::string& tensor : add(folder / single_file).names()) out.files_of_[tensor] = 0;
  return out;
}

PublishedTensors PublishedTensors::of(std::map<std::string, Tensor> tensors, const std::string& where,
                                      int64_t bytes) {
  PublishedTensors out;
  out.where_ = where;
  out.tensors_ = std::move(tensors);
  out.bytes_ = bytes;
  return out;
}

std::vector<std::string> PublishedTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_of_) names.push_back(name);
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const SafetensorsFile& PublishedTensors::file_of(std::string_view name) const {
  const auto found = files_of_.find(name);
  require<InputError>(found != files_of_.end(), where_, "there is no tensor {}", quoted_name(std::string(name)));
  return files_[found->second];
}

Tensor PublishedTensors::get(std::string_view name) const {
  if (const auto found = tensors_.find(std::string(name)); found != tensors_.end()) return found->second;
  const Tensor value = file_of(name).get(name);
  require<InputError>(value.dtype() == DType::f32 || value.dtype() == DType::bf16, where_,
                      "tensor {} is {}, must be f32, f16 or bf16", quoted_name(std::string(name)),
                      qkv::name_of(value.dtype()));
  return value.to(DType::f32);
}

}  // namespace qkv
