// Decoding with a stack of blocks and the output projection after it.
//
//     return std::make_unique<StackDecoding>(decoder, decoder.start(encoded), output);
#pragma once

#include "qkv/layer/output_projection.h"
#include "qkv/model/decoding.h"
#include "qkv/model/stack.h"

namespace qkv {

class StackDecoding final : public Decoding {
 public:
  // The stack and the output projection must outlive this.
  StackDecoding(const Stack& stack, StackRows rows, const OutputProjection& output);

  int64_t rows() const override { return rows_.count(); }
  int64_t position(int64_t row) const override { return rows_.group_of(row).position; }
  Tensor extend_each(std::span<const std::vector<int32_t>> tokens, Pass& pass) override;
  int64_t max_at_once(int64_t row) const override;
  void truncate(std::span<const int64_t> lengths) override;
  void reorder(std::span<const int64_t> source) override;
  void join(Decoding& other) override;
  void restrict_logits(std::span<const int32_t> tokens) override { output_ = of_all_.of_tokens(tokens); }

 private:
  using Tokens = std::vector<std::vector<int32_t>>;
  // The length until which cached keys are valid, of rows that can begin again.
  std::optional<int64_t> restart_after() const;
  // The tokens to extend by: rows that pass that length begin again.
  Tokens with_restarts(std::span<const std::vector<int32_t>> tokens);

  Tensor advance(std::span<const std::vector<int32_t>> tokens, Pass& pass) override;
  const OutputProjection& output() const override { return output_; }

  const Stack& stack_;
  StackRows rows_;
  const OutputProjection& of_all_;
  OutputProjection output_;  // of all tokens, or of some
  Tokens history_;           // of every row, in a model whose cache does not stay valid
};

}  // namespace qkv
