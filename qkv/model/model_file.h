// A model as a folder:
//
//     model.safetensors    the parameters, by the names that Transformer::visit gives; in its metadata the
//                          configuration, and checksums of the vocabularies that stand beside it
//     config.json          the configuration (model/config.h), to read and to edit
//
//     save_model("my-model", model);
//     Transformer model = load_model("my-model");
//
// model.safetensors is complete by itself and replaced as a whole, so no crash makes a mixture of two models. A
// config.json as it was saved is only checked; one that was written or edited by hand (it has no checksum) is what
// counts. Everything read is checked: a wrong checksum, a missing, extra or misshapen parameter is an InputError
// that names the file and the tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/model/transformer.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {

// Of the files source.model and target.model, by their names; hexadecimal.
using VocabularyChecksums = std::map<std::string, std::string>;

// Makes the folder if it is not there.
void save_model(const std::filesystem::path& folder, Transformer& model, const VocabularyChecksums& sums = {});
Transformer load_model(const std::filesystem::path& folder);
TransformerConfig load_config(const std::filesystem::path& folder);  // of config.json alone

// Another file of the form of model.safetensors.
void save_parameters(const std::filesystem::path& path, Transformer& model, const VocabularyChecksums& sums = {});
// The parameters by name, as views.
NamedTensors parameters_of(Transformer& model);

// For those who read a model with its vocabularies:
//
//     auto [model, sums] = read_together(folder, [&] { return read_model(folder); });
struct SavedModel {
  Transformer model;
  VocabularyChecksums sums;
};
SavedModel read_model(const std::filesystem::path& folder);

// Where a file of a model folder is. A training that replaces the model of a folder commits all new files at once,
// in training/committed, and then moves them to their places: there they are found meanwhile.
std::filesystem::path find_in_model(const std::filesystem::path& folder, std::string_view name);

// Changes when any of the model's files is replaced.
std::string model_stamp(const std::filesystem::path& folder);

// What read() gives. Where it fails because a training replaces the model just now it is called again.
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

}  // namespace qkv
