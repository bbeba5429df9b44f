#include "qkv/published/foreign_folder.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/file.h"
#include "qkv/published/gguf/gguf_file.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// "openai-community/gpt2"
bool is_hub_name(const std::string& name) {
  const size_t slash = name.find('/');
  const auto is_part = [](std::string_view part) {
    constexpr std::string_view others = "-_.";
    const bool fits = std::all_of(part.begin(), part.end(), [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != others.npos;
    });
    return fits && !part.empty() && part.front() != '.';
  };
  return slash != name.npos && is_part(std::string_view(name).substr(0, slash)) &&
         is_part(std::string_view(name).substr(slash + 1));
}

std::string of_file(const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".gguf") return is_gguf_file(file) ? "" : "it does not begin as a GGUF file of llama.cpp does";
  if (ending == ".bin")
    return "it is a file; a model of llama2.c is a folder with this file and its vocabulary, tokenizer.bin";
  if (ending == ".safetensors" || ending == ".npz" || ending == ".pt" || ending == ".pth")
    return "it is a file; a model is a folder with its weights, its settings and its vocabulary";
  return "";
}

std::string of_folder(const fs::path& folder) {
  if (file_exists(folder / "adapter_config.json"))
    return "it has an adapter (adapter_config.json), which is not supported; merge it into its model: "
           "merge_and_unload() of peft, then save_pretrained()";
  if (file_exists(folder / "config.json")) return "";
  for (const fs::path& file : files_in(folder))
    if (file.extension() == ".gguf" && file_exists(file))
      return fmt::format("it has files of llama.cpp (GGUF), each of which is a model; give one, such as {}",
                         file.string());
  if (!file_exists(folder / "snapshots")) return "";
  for (const fs::path& snapshot : files_in(folder / "snapshots"))
    if (file_exists(snapshot / "config.json"))
      return fmt::format("it is an entry of the cache of the Hugging Face Hub; the model is {}", snapshot.string());
  return "";
}

}  // namespace

std::string foreign_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return of_folder(folder);
  if (file_exists(folder)) return of_file(folder);
  if (!is_hub_name(folder.string())) return "";
  return fmt::format(
      "there is no such folder; if it is a model of the Hugging Face Hub, download it: hf download {} --local-dir "
      "{}",
      folder.string(), folder.filename().string());
}

}  // namespace qkv
