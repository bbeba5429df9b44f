#include "qkv/published/published_tensors.h"

#include <set>
#include <span>

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

// The file of every tensor.
using Index = std::map<std::string, std::string>;

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
    index[tensor] = name;
  }
  return index;
}

// The content of a Git LFS file that was not fetched.
void refuse_lfs_pointer(const fs::path& path) {
  const RandomAccessFile file(path);
  constexpr std::string_view begins = "version https://git-lfs.github.com/spec/";
  std::string bytes(begins.size(), '\0');
  if (file.size() < std::ssize(bytes)) return;
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  require<InputError>(bytes != begins, path.string(),
                      "this is a Git LFS pointer, not the file: run 'git lfs pull' in the folder");
}

// Weights as torch.save() writes them, one file or the first of several; "": there are none.
std::string pickled_file(const fs::path& folder) {
  std::string first;
  for (const fs::path& file : files_in(folder)) {
    const std::string name = file.filename().string();
    const bool is_pickled = name.starts_with("pytorch_model") && name.ends_with(".bin");
    if (is_pickled && (first.empty() || name < first)) first = name;
  }
  return first;
}

}  // namespace

PublishedTensors PublishedTensors::open(const fs::path& folder) {
  PublishedTensors out;
  const auto add = [&](const fs::path& path) -> const SafetensorsFile& {
    refuse_lfs_pointer(path);
    std::error_code error;
    out.bytes_ += static_cast<int64_t>(fs::file_size(path, error));
    return out.files_.emplace_back(SafetensorsFile::load(path));
  };
  if (!file_exists(folder / single_file) && file_exists(folder / index_file)) {
    out.where_ = (folder / index_file).string();
    std::map<std::string, size_t> numbers;  // of the files that were opened
    for (const auto& [tensor, name] : read_index(folder / index_file)) {
      const auto [number, is_new] = numbers.emplace(name, out.files_.size());
      if (is_new) add(folder / name);
      require<InputError>(out.files_[number->second].has(tensor), out.where_, "tensor {} is not in {}",
                          quoted_name(tensor), name);
      out.files_of_[tensor] = number->second;
    }
    return out;
  }
  const std::string pickled = file_exists(folder / single_file) ? "" : pickled_file(folder);
  require<InputError>(pickled.empty(), folder.string(),
                      "{} is not read, because loading it can execute arbitrary code; save the model again "
                      "with save_pretrained(folder, safe_serialization=True) of transformers",
                      pickled);
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

PublishedTensors PublishedTensors::of(GgufFile file) {
  PublishedTensors out;
  out.where_ = file.metadata().file();
  out.bytes_ = file.bytes();
  out.gguf_ = std::move(file);
  return out;
}

void PublishedTensors::map() {
  if (gguf_) gguf_->map();
  for (SafetensorsFile& file : files_) file.map();
}

void PublishedTensors::compose(std::map<std::string, ComposedTensor> tensors) { composed_ = std::move(tensors); }

std::vector<std::string> PublishedTensors::names() const {
  std::vector<std::string> names;
  std::set<std::string> parts;
  for (const auto& [name, composed] : composed_) {
    names.push_back(name);
    for (const std::string& part : composed.parts) parts.insert(part);
  }
  for (const auto& [name, file] : files_of_)
    if (!parts.contains(name)) names.push_back(name);
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  if (gguf_)
    for (const GgufTensor& tensor : gguf_->tensors()) names.push_back(tensor.name);
  return names;
}

const SafetensorsFile& PublishedTensors::file_of(std::string_view name) const {
  const auto found = files_of_.find(name);
  require<InputError>(found != files_of_.end(), where_, "there is no tensor {}", quoted_name(std::string(name)));
  return files_[found->second];
}

StoredValues PublishedTensors::get(std::string_view name) const {
  if (gguf_) return gguf_->get(name);
  if (const auto found = composed_.find(std::string(name)); found != composed_.end())
    return found->second.read(*this);
  if (const auto found = tensors_.find(std::string(name)); found != tensors_.end()) return found->second;
  Tensor value = file_of(name).get(name);
  require<InputError>(value.dtype() == DType::f32 || value.dtype() == DType::bf16, where_,
                      "tensor {} is {}, must be f32, f16 or bf16", quoted_name(std::string(name)),
                      qkv::name_of(value.dtype()));
  return value;
}

}  // namespace qkv
