// Alignments of given translations: the cross-attention weights of one decoder layer, averaged over its heads.
// Row t holds the weights with which token t was predicted.
//
//     std::vector<Tensor> a = alignments(model, encoded, sources, targets);     // a[i] is (T_i, S_i)
//
// targets[i], ids without bos and eos, is a translation of row sources[i] of the encoded batch. One pass of the
// decoder over all targets, or, of a model that depends on their length (TransformerConfig), over those of each length. Rows are zero where a token sees no source position; they sum to 1, except in variants
// whose weights do not (softmax-with-sink, local-p, kernels: attention/attention.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/model/encoder_decoder.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct AlignmentOptions {
  int64_t layer = -1;  // of the decoder; negative: from the last
  int32_t bos = Tokenizer::bos;
};
std::vector<Tensor> alignments(const EncoderDecoder& model, const Encoded& encoded,
                               std::span<const int64_t> sources, std::span<const std::vector<int32_t>> targets,
                               const AlignmentOptions& options = {});

// The source position that each of T target tokens is linked to: the largest weight of its row, the first of equal
// ones. None for a token that sees no source position.
std::vector<std::optional<int64_t>> alignment_links(const Tensor& alignment);

}  // namespace qkv
