// A model of any architecture with the vocabulary of the text that it reads.
//
//     TextModel text_model = read_text_model("my-model");
//     auto causal = model_as<CausalTransformer>(text_model, "my-model", "it does not generate text");
//
// The vocabulary is tokenizer.model in the folder of a model of one stack, source.model in the folder of an
// encoder-decoder; a published model has the files of its format (model_folder.h). Errors: InputError for a folder that
// is not a model, files that do not fit together, and another architecture.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/model/model.h"
#include "qkv/model/store_parameters.h"
#include "qkv/published/model_folder.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

// The weights are packed for inference (model/store_parameters.h).
struct TextModel {
  std::shared_ptr<const Model> model;
  Tokenizer tokenizer;
  std::shared_ptr<const ModelFolder> folder;  // for its settings
};
TextModel read_text_model(const std::filesystem::path& folder, const InferenceOptions& options = {});

// The tokens around a text that a model reads. A published vocabulary says them; our own models have bos for a language
// model, and eos for all but a causal one.
TextFrame frame_of(const Tokenizer& tokenizer, Architecture architecture);

// Errors begin with `where`. A published model may have unused rows. A masked model has one row more than a vocabulary
// without a mask.
void check_vocabulary(const Model& model, const Tokenizer& tokenizer, const std::string& where);

// InputError for a model that gives hidden states and no logits.
void check_head(const Model& model, const std::string& where);

// The model as its class. The error for another model says `cannot`, such as "it does not translate".
template <class AnyModel>
std::shared_ptr<const AnyModel> model_as(const TextModel& from, const std::string& where, std::string_view cannot) {
  auto model = std::dynamic_pointer_cast<const AnyModel>(from.model);
  require<InputError>(model != nullptr, where, "the architecture of this model is {}: {}, which needs a {} model",
                      name_of(from.model->config().architecture()), cannot, name_of(AnyModel::architecture));
  return model;
}

}  // namespace qkv
