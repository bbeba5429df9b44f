// Exports a model of ours as a MarianMTModel of Hugging Face, in the form that its save_pretrained() writes:
//
//     MarianExport out = marian_export(model, {.pad = 0, .bos = 1, .eos = 2, .unk = 3});
//     out.config, out.generation_config                          // the text of both files
//     save_safetensors("marian/model.safetensors", out.tensors, {{"format", "pt"}});
//
// The model computes the same, with its numbers in another order. Rows: out.ids, which are eos, unk, all others, then
// tokens never generated (bos, pad, a zero row). Channels: sines first, then cosines. A Marian decoder begins with
// zeros, so the embedding of our bos is added to position 0 of its table. Errors: UsageError that names each setting
// that Marian lacks, such as pre-LN.
#pragma once

#include <string>
#include <vector>

#include "qkv/model/transformer.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {

struct MarianTokens {
  int32_t pad, bos, eos, unk;
};

struct MarianExport {
  std::string config, generation_config;
  NamedTensors tensors;
  std::vector<int32_t> ids;  // our ids, in the order of theirs; -1 for their pad
};

MarianExport marian_export(const Transformer& model, const MarianTokens& tokens);

}  // namespace qkv
