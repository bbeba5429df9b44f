#include "qkv/published/model_folder.h"

#include <cerrno>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/model/model_file.h"
#include "qkv/published/chat_template_files.h"
#include "qkv/published/ctranslate2/ctranslate2.h"
#include "qkv/published/foreign_folder.h"
#include "qkv/published/gguf/gguf_folder.h"
#include "qkv/published/huggingface/huggingface_folder.h"
#include "qkv/published/llama2c/llama2c.h"
#include "qkv/published/marian/marian_folder.h"
#include "qkv/published/min_gpt/min_gpt.h"
#include "qkv/published/own_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// Each returns null for another format. A GGUF file is a path that is not a folder; the others read folders.
using OpenFolder = std::unique_ptr<ModelFolder> (*)(const fs::path& path);
constexpr OpenFolder formats[] = {open_gguf,    open_ctranslate2, open_marian,
                                  open_llama2c, open_min_gpt,     open_huggingface};

std::unique_ptr<ModelFolder> open_published(const fs::path& path) {
  if (is_being_replaced(path)) return nullptr;  // by a training, with a model of ours
  for (const OpenFolder open : formats)
    if (std::unique_ptr<ModelFolder> folder = open(path)) return folder;
  return nullptr;
}

}  // namespace

std::optional<ModelFolder::SettingsFile> ModelFolder::generation_config() const {
  const fs::path file = find_in_model(path_, "generation_config.json");
  if (!file_exists(file)) return {};
  return SettingsFile{read_file(file, JsonLimits{}.bytes), file.string()};
}

ChatTemplateSource ModelFolder::chat_template() const { return read_chat_template(path_); }

WeightFormat ModelFolder::stored_weights() const {
  std::map<WeightFormat, int64_t> numbers;
  try {
    for (const fs::path& file : files_in(path_)) {
      if (file.extension() != ".safetensors") continue;
      const SafetensorsHeader header = read_safetensors_header(file);
      const auto formats = quantized_tensors(header.metadata, file.string());
      for (const SafetensorsEntry& entry : header.entries) {
        if (entry.shape.rank() != 2) continue;
        if (const auto format = formats.find(entry.name); format != formats.end())
          numbers[format->second] +=
              entry.shape.numel() * block_of(format->second).numbers / block_of(format->second).bytes;
        else
          numbers[entry.dtype == "BF16" ? WeightFormat::bf16 : WeightFormat::f32] += entry.shape.numel();
      }
    }
  } catch (const InputError&) {  // the numbers of an incomplete folder are not described
    return WeightFormat::f32;
  }
  return largest_share(numbers);
}

std::unique_ptr<ModelFolder> open_model_folder(const fs::path& path) {
  std::error_code error;
  if (const std::string what = foreign_folder(path); !what.empty())
    fail<InputError>(path.string(), "not a model folder: {}", what);
  if (std::unique_ptr<ModelFolder> folder = open_published(path)) return folder;
  if (!fs::is_directory(path, error)) throw FileError(ENOENT, path.string(), "no such model folder");
  return open_own(path);
}

bool is_published(const fs::path& path) { return open_published(path) != nullptr; }

}  // namespace qkv
