// A model of ours as a folder:
//
//     model.safetensors    the parameters, by their names in Module::visit; in its metadata the configuration
//                          and the checksums of the vocabularies in the same folder; rows of quantised matrices
//                          are bytes (u8), and the metadata has their formats
//     config.json          the configuration (model/config.h), to read and to edit
//
//     save_model("my-model", model);
//     Transformer model = load_model("my-model");            // published/load_model.h
//
// model.safetensors is self-contained and replaced as a whole, so a crash cannot leave a mixture of two models.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/kernel/weight_format.h"
#include "qkv/model/model.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {

inline constexpr const char *parameter_file = "model.safetensors", *config_file = "config.json";
inline constexpr const char *config_key = "config", *formats_key = "weight_formats";  // of the metadata

// The vocabulary files that a model may have: those of an encoder-decoder, that of a model of one stack.
inline constexpr const char* vocabulary_files[] = {"source.model", "target.model", "tokenizer.model"};
// Hexadecimal checksums of these files, by name.
using VocabularyChecksums = std::map<std::string, std::string>;

// Creates the folder if it does not exist.
void save_model(const std::filesystem::path& folder, const Model& model, const VocabularyChecksums& sums = {});

WeightFormat held_weights(const Model& model);  // that of the most numbers in matrices
// The format of the most numbers, of counts for each; f32 if there are none.
WeightFormat largest_share(const std::map<WeightFormat, int64_t>& numbers);

// Writes a file in the format of model.safetensors.
void save_parameters(const std::filesystem::path& path, const Model& model, const VocabularyChecksums& sums = {});
// The parameters by name, as views, except that packed ones are copied: in bf16 if they are packed so, in f32 if quantised.
NamedTensors parameters_of(const Model& model);
// The quantised tensors of a file of ours, and their formats: the entry `formats_key` of its metadata. InputError if it is
// not valid.
std::map<std::string, WeightFormat> quantized_tensors(const std::map<std::string, std::string>& metadata,
                                                      const std::string& where);

// The path of a file of a model folder. A training that replaces a model commits all new files at once, to
// training/committed, and then moves them; until then they are found there.
std::filesystem::path find_in_model(const std::filesystem::path& folder, std::string_view name);
bool is_being_replaced(const std::filesystem::path& folder);

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

}  // namespace qkv
