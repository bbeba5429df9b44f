// Writes a model as a GGUF file, for llama.cpp and for open_gguf().
//
//     SavedModel saved = ... read with store_for_gguf(WeightFormat::q4_k) ...;
//     write_gguf("llama-q4_k.gguf", {*saved.model, tokenizer, WeightFormat::q4_k, "Llama 3.2 1B"});
//
// The architecture is that of the family, or the first of gguf_architectures(), that gives the configuration back when it is read, so that whatever
// one of them can express can be written. The names and rows of tensors are those that reading uses. Matrices are written
// as they are held, tensor by tensor; rows that are not whole blocks of 32 are f16, or f32 where a number is too large for it;
// everything else is f32. The file is written aside and renamed. Errors: UsageError for a model or a tokenizer that no
// architecture can express, and for int8, which has no type in these files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "qkv/kernel/weight_format.h"
#include "qkv/model/model.h"
#include "qkv/model/pooling.h"
#include "qkv/model/store_parameters.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

// Holds matrices in the format if their rows are whole blocks of 32, else in f32. None: as the files hold them.
StoreParameter store_for_gguf(std::optional<WeightFormat> weights);

// UsageError for int8, with the nearest format.
void check_gguf_weights(WeightFormat weights);

struct GgufSource {
  const Model& model;
  const Tokenizer& tokenizer;
  WeightFormat weights = WeightFormat::f32;  // of most matrices
  std::string family = {};                   // whose architecture is tried first: ModelFolder::family()
  std::string name = {};
  std::string chat_template = {};
  std::optional<Pooling> pooling = {};  // none: the model does not say how the tokens of a text become a vector
};
void write_gguf(const std::filesystem::path& path, const GgufSource& source);

}  // namespace qkv
