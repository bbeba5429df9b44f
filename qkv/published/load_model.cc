#include "qkv/published/load_model.h"

#include "qkv/model/make_model.h"
#include "qkv/tensor/storage.h"

namespace qkv {
namespace fs = std::filesystem;

SavedModel read_model(const fs::path& path, const StoreParameter& store) {
  SavedModel saved = {nullptr, open_model_folder(path)};
  const auto make = [&](const ModelConfig& config) -> Model& {
    saved.model = make_model(config);
    return *saved.model;
  };
  saved.folder->read_parameters(make, store);
  return saved;
}

Transformer load_model(const fs::path& folder) { return load_model_as<Transformer>(folder); }

ModelConfig load_config(const fs::path& folder) { return open_model_folder(folder)->config(); }

SavedModel read_model(const fs::path& folder) { return read_model(folder, store_for_training()); }

SavedModel read_model_for_inference(const fs::path& folder, const InferenceOptions& options) {
  SavedModel saved = read_model(folder, store_for_inference(options));
  saved.model->set_cache_format(options.cache);
  release_unused_storage();  // of tensors that were converted
  return saved;
}

void check_architecture(const fs::path& folder, Architecture is, Architecture expected) {
  require<InputError>(is == expected, folder.string(), "the architecture of this model is {}, expected {}",
                      name_of(is), name_of(expected));
}

}  // namespace qkv
