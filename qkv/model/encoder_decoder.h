// A model that reads a source and writes a target: what training, search, scoring and alignment see of it.
//
//     Encoded encoded = model.encode(source, lengths, pass);
//     CrossEntropy e = model.loss(encoded, target_in, target_out, {.label_smoothing = 0.1f}, pass);
//     std::unique_ptr<Decoding> rows = model.start(encoded);                    // an empty target for each source
//
// Token ids are i32 (B,S) and (B,T), padded at the end with any valid ids; `lengths` has the length of every source.
// Errors: ids that are not i32 (B,T), or longer than config().position_limit().
#pragma once

#include <memory>
#include <vector>

#include "qkv/layer/output_projection.h"
#include "qkv/model/decoding.h"
#include "qkv/model/encoded.h"
#include "qkv/model/model.h"

namespace qkv {

class EncoderDecoder : public Model {
 public:
  using Model::Model;

  virtual Encoded encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const = 0;
  // The state of the decoder that logits are computed from, for every target position, (B,T,C). The pass's log gets
  // the cross-attention weights.
  virtual Variable decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const = 0;
  virtual Variable logits(const Variable& hidden) const = 0;  // (..., C) -> (..., V)

  // Cross entropy over the positions of target_out (B,T) that are not options.ignore_index, without storing all
  // logits. `hidden` is the result of decode().
  virtual CrossEntropy loss(const Variable& hidden, const Tensor& target_out,
                            const CrossEntropyOptions& options) const = 0;
  CrossEntropy loss(const Encoded& encoded, const Tensor& target_in, const Tensor& target_out,
                    const CrossEntropyOptions& options, Pass& pass) const;
  CrossEntropy loss(const Tensor& source, std::vector<int32_t> lengths, const Tensor& target_in,
                    const Tensor& target_out, const CrossEntropyOptions& options, Pass& pass) const;

  // Decoding: an empty target for each source. The model must outlive the result.
  virtual std::unique_ptr<Decoding> start(const Encoded& encoded) const = 0;

  // The layers with cross-attention, whose weights the log of a pass has.
  virtual int64_t cross_attention_layers() const = 0;
};

}  // namespace qkv
