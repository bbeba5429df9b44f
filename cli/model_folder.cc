#include "cli/model_folder.h"

#include "qkv/base/file.h"
#include "qkv/model/model_file.h"

namespace qkv::cli {
namespace {

void check_is_model(const std::string& command, const std::string& folder) {
  std::error_code error;
  const auto refuse = [&](const char* reason) {
    fail<InputError>("qkv " + command,
                     "--model {} is not a model folder: {}; qkv train --model {} --train PAIRS.tsv makes one",
                     folder, reason, folder);
  };
  if (!std::filesystem::exists(folder, error)) refuse("it does not exist");
  if (!std::filesystem::is_directory(folder, error)) refuse("it is a file");
  for (const char* name : {"config.json", "model.safetensors"})
    if (file_exists(find_in_model(folder, name))) return;
  refuse("it has no config.json");
}

// What is wrong with a folder is asked only after reading failed: a training may be replacing the model just now.
template <class Read>
auto read_from(const std::string& command, const std::string& folder, Read read) {
  try {
    return read();
  } catch (const InputError&) {
    check_is_model(command, folder);
    throw;
  }
}

}  // namespace

Translator open_translator(const std::string& command, const std::string& folder) {
  return read_from(command, folder, [&] { return Translator(std::filesystem::path(folder)); });
}

TransformerConfig open_config(const std::string& command, const std::string& folder) {
  return read_from(command, folder, [&] { return load_config(folder); });
}

}  // namespace qkv::cli
