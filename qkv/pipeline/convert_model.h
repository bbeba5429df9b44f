// Converts a model folder of any format to our own, or to a GGUF file, or one of ours for Hugging Face.
//
//     convert_model("opus-mt-en-de", "ours");                                // model.safetensors, config.json, *.model
//     convert_model("ours", "marian", ModelFormat::huggingface);             // for transformers and its readers
//     convert_model("llama-3.2-1b", "llama.gguf", ModelFormat::gguf, {.weights = WeightFormat::q4_k});   // for llama.cpp
//
// Our format keeps everything of a published model, including special tokens and the pooling of sentences; its weights
// are stored in the number format that the options name, or as the files of the model store them. For Hugging Face they
// are f32, and the result is a MarianMTModel (published/marian/write_marian.h says for which models), with two SentencePiece models
// and a vocabulary. A GGUF file has the weights in any of these formats but int8 (published/gguf/write_gguf.h says for which
// models), the tokenizer and the chat template. `to` must be new, or an empty folder; it is written aside and renamed.
// Errors: UsageError for another `to`, and for a model that the format cannot express; InputError for files that cannot be
// read.
#pragma once

#include <array>
#include <filesystem>

#include "qkv/base/names.h"
#include "qkv/model/store_parameters.h"

namespace qkv {

enum class ModelFormat { qkv, huggingface, gguf };
constexpr auto names_of(ModelFormat) {
  return std::array{Named{ModelFormat::qkv, "qkv"}, Named{ModelFormat::huggingface, "huggingface"},
                    Named{ModelFormat::gguf, "gguf"}};
}

void convert_model(const std::filesystem::path& from, const std::filesystem::path& to,
                   ModelFormat format = ModelFormat::qkv, const InferenceOptions& options = {});

}  // namespace qkv
