// The attention weights of an inspection as NumPy files.
//
//     save_weights(inspect(translator, "I am cold."), "weights.npz");
//
//     weights = numpy.load("weights.npz")
//     weights["cross.3"][5]                                       # (T,S): layer 3, head 5
//     weights["cross.rows"], weights["cross.columns"]             # T and S tokens
//
// .npz     for each attention of the model (encoder, decoder, cross) and each of its layers, from 0, an array USE.LAYER of
//          float32 (H,T,S); and the tokens, USE.rows and USE.columns, as arrays of text. With .rollout, USE.rollout (T,T) of
//          each self-attention (rollout.h). Arrays are not compressed.
// .npy     one attention, float32 (N,H,T,S): the layers of .use, or of the last of these attentions.
//
// The file is written whole or not at all. Errors: UsageError for another extension, and for a use that the model does not have;
// FileError.
#pragma once

#include <filesystem>
#include <optional>

#include "qkv/pipeline/inspect.h"

namespace qkv {

struct SaveWeightsOptions {
  std::optional<AttentionUse> use = {};  // of a .npy
  bool rollout = false;                  // in a .npz
};
void save_weights(const Inspection& inspection, const std::filesystem::path& path,
                  const SaveWeightsOptions& options = {});

// Whether the name of a file is that of a NumPy file.
bool is_weights_file(const std::filesystem::path& path);

}  // namespace qkv
