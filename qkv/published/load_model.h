// Reads models from folders of any format, ours or published.
//
//     Transformer model = load_model("my-model");
//     auto causal = load_model_as<CausalTransformer>("my-language-model");
//     std::unique_ptr<Model> any = read_model("any-model").model;
//     std::unique_ptr<Model> packed = read_model_for_inference("any-model", {.weights = WeightFormat::bf16}).model;
//
// Errors: InputError that names the file and the tensor, and for another architecture.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "qkv/base/error.h"
#include "qkv/model/model_file.h"
#include "qkv/model/transformer.h"
#include "qkv/published/model_folder.h"

namespace qkv {

Transformer load_model(const std::filesystem::path& folder);
ModelConfig load_config(const std::filesystem::path& folder);  // of the settings alone

// A model of any architecture, and its folder, for its tokenizers and settings. With them it is read by
//
//     auto [model, folder] = read_together(path, [&] { return read_model(path); });
struct SavedModel {
  std::unique_ptr<Model> model;
  std::unique_ptr<ModelFolder> folder;
};
SavedModel read_model(const std::filesystem::path& folder);  // to be trained
SavedModel read_model(const std::filesystem::path& folder, const StoreParameter& store);
SavedModel read_model_for_inference(const std::filesystem::path& folder, const InferenceOptions& options = {});

// InputError that names the folder, if the architecture is another one.
void check_architecture(const std::filesystem::path& folder, Architecture is, Architecture expected);

// A Transformer of a known class.
template <class AnyModel>
AnyModel load_model_as(const std::filesystem::path& folder) {
  return read_together(folder, [&] {
    std::optional<AnyModel> model;
    const auto make = [&](const ModelConfig& config) -> Model& {
      check_architecture(folder, config.architecture(), AnyModel::architecture);
      return model.emplace(config.transformer());
    };
    open_model_folder(folder)->read_parameters(make, store_for_training());
    return std::move(*model);
  });
}

}  // namespace qkv
