// A model as a folder:
//
//     model.safetensors    the parameters, by their names in Module::visit; in its metadata the configuration
//                          and the checksums of the vocabularies in the same folder
//     config.json          the configuration (model/config.h), to read and to edit
//
//     save_model("my-model", model);
//     Transformer model = load_model("my-model");
//     auto causal = load_model_as<CausalTransformer>("my-language-model");
//     std::unique_ptr<Model> any = read_model("any-model").model;
//     std::unique_ptr<Model> packed = read_model_for_inference("any-model", {.weights = WeightFormat::bf16}).model;
//
// model.safetensors is self-contained and replaced as a whole, so a crash cannot leave a mixture of two models. A
// config.json as it was saved is only checked; one written or edited by hand (without a checksum) overrides the
// stored configuration. A wrong checksum and a missing, extra or misshapen parameter are InputErrors that name the
// file and the tensor.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/model/store_parameters.h"
#include "qkv/model/transformer.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {

// The vocabulary files that a model may have: those of an encoder-decoder, that of a model of one stack.
inline constexpr const char* vocabulary_files[] = {"source.model", "target.model", "tokenizer.model"};
// Hexadecimal checksums of these files, by name.
using VocabularyChecksums = std::map<std::string, std::string>;

// Creates the folder if it does not exist.
void save_model(const std::filesystem::path& folder, const Model& model, const VocabularyChecksums& sums = {});
Transformer load_model(const std::filesystem::path& folder);
TransformerConfig load_config(const std::filesystem::path& folder);  // reads config.json only

WeightFormat held_weights(const Model& model);  // bf16 if a matrix is held so
// The format that the weights of a folder are held in for inference. f32 if its files cannot be read.
WeightFormat stored_weights(const std::filesystem::path& folder);

// Writes a file in the format of model.safetensors.
void save_parameters(const std::filesystem::path& path, const Model& model, const VocabularyChecksums& sums = {});
// The parameters by name, as views, except that packed ones are copied: in bf16 if they are packed so.
NamedTensors parameters_of(const Model& model);

// A model of any architecture. With its vocabularies it is read by
//
//     auto [model, sums] = read_together(folder, [&] { return read_model(folder); });
struct SavedModel {
  std::unique_ptr<Model> model;
  VocabularyChecksums sums;
};
SavedModel read_model(const std::filesystem::path& folder);  // to be trained
SavedModel read_model_for_inference(const std::filesystem::path& folder, const InferenceOptions& options = {});

// Reads the configuration, and the parameters into the model that `make` makes of it.
using MakeModel = std::function<Model&(const TransformerConfig& config)>;
VocabularyChecksums read_parameters(const std::filesystem::path& folder, const MakeModel& make,
                                    const StoreParameter& store = store_for_training());
// InputError that names the folder, if the architecture is another one.
void check_architecture(const std::filesystem::path& folder, Architecture is, Architecture expected);

// The path of a file of a model folder. A training that replaces a model commits all new files at once, to
// training/committed, and then moves them; until then they are found there.
std::filesystem::path find_in_model(const std::filesystem::path& folder, std::string_view name);

// Changes when any of the model's files is replaced.
std::string model_stamp(const std::filesystem::path& folder);

// The result of read(), which is called again if it fails while a training replaces the model.
template <class Read>
auto read_together(const std::filesystem::path& folder, Read read) {
  for (int tries = 1;; ++tries) {
    const std::string before = model_stamp(folder);
    try {
      return read();
    } catch (const InputError&) {
      if (tries == 5 || model_stamp(folder) == before) throw;
    }
  }
}

// A model of a known class.
template <class AnyModel>
AnyModel load_model_as(const std::filesystem::path& folder) {
  return read_together(folder, [&] {
    std::optional<AnyModel> model;
    read_parameters(folder, [&](const TransformerConfig& config) -> Model& {
      check_architecture(folder, config.architecture, AnyModel::architecture);
      return model.emplace(config);
    });
    return std::move(*model);
  });
}

}  // namespace qkv
