// A model folder of any format as one of ours, or one of ours as one of Hugging Face.
//
//     convert_model("opus-mt-en-de", "ours");                                    // model.safetensors, config.json, *.model
//     convert_model("ours", "marian", ModelFormat::huggingface);                 // for transformers, and what reads it
//
// Ours holds all that a published model has: tokenizers with their special tokens, and how sentences are pooled. Hugging Face's
// is Marian (model/family/write_marian.h says which models it can be), with the two SentencePiece models and a vocabulary.
// `to` must be new or empty; it is written aside and renamed. Errors: UsageError for another `to`, and for a model that the
// format does not have; InputError for what cannot be read.
#pragma once

#include <array>
#include <filesystem>

#include "qkv/base/names.h"

namespace qkv {

enum class ModelFormat { qkv, huggingface };
constexpr auto names_of(ModelFormat) {
  return std::array{Named{ModelFormat::qkv, "qkv"}, Named{ModelFormat::huggingface, "huggingface"}};
}

void convert_model(const std::filesystem::path& from, const std::filesystem::path& to,
                   ModelFormat format = ModelFormat::qkv);

}  // namespace qkv
