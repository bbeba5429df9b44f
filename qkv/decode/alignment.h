// Which source tokens each token of a given answer looked at: the weights of one decoder layer's cross-attention,
// averaged over its heads, at the moment when the token was chosen.
//
//     Tensor a = alignments(model, source, lengths, targets)[b];     // (T_b, S_b): rows sum to 1
//
// One pass of the whole decoder over the answers: their ids, without begin and end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/model/transformer.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct AlignmentOptions {
  int64_t layer = -1;  // of the decoder; negative ones count from the last
  int32_t begin = Tokenizer::bos;
};
std::vector<Tensor> alignments(const Transformer& model, const Tensor& source, std::span<const int32_t> lengths,
                               std::span<const std::vector<int32_t>> targets, const AlignmentOptions& options = {});

}  // namespace qkv
