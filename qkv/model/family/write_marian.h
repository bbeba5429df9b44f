// A model of ours as one of Hugging Face: the Marian of transformers, as its save_pretrained() would write it.
//
//     MarianExport out = marian_export(model, {.pad = 0, .bos = 1, .eos = 2, .unk = 3});
//     out.config, out.generation_config                          // the text of both files
//     save_safetensors("marian/model.safetensors", out.tensors, {{"format", "pt"}});
//
// The same function, in another order of numbers: rows are those of the tokens in out.ids (end, unknown, all others, and what is
// never generated: our first and pad, and a pad of zeros), channels those of sinusoids whose sines come first. A decoder of Marian begins with zeros: our first token is in
// position 0 of its table. Errors: UsageError, naming each setting that Marian does not have, such as a norm before its part of
// a layer.
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
  std::vector<int32_t> ids;  // ours, in the order of theirs; -1 of the pad
};

MarianExport marian_export(const Transformer& model, const MarianTokens& tokens);

}  // namespace qkv
