// Sequences that grow token by token: what search and sampling see of a model.
//
//     std::unique_ptr<Decoding> rows = model.start(encoded);          // a row for each source, empty
//     Tensor logits = rows->extend({{bos}, {bos, 5}}, pass);          // (R,V), of the token after the last one
//     rows->reorder({0, 0, 1});                                       // two continuations of row 0, one of row 1
//     rows->join(*model.start(more));                                 // more rows, at positions of their own
//
//     Tensor each = rows->extend_each({{7, 9, 4}, {8}}, pass);        // (4,V), after every one of the tokens
//     rows->truncate({4, 3});                                         // of row 0 the first 4 tokens stay
//
//     rows->restrict_logits({2, 5, 9});                               // from now on logits are (R,3), of these tokens
//
// The logits of a row do not depend on the other rows. Errors: rows without tokens, ids outside the vocabulary,
// positions beyond the model's limit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/layer/output_projection.h"
#include "qkv/layer/pass.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

class Decoding {
 public:
  virtual ~Decoding() = default;

  virtual int64_t rows() const = 0;
  virtual int64_t position(int64_t row) const = 0;  // the number of its tokens so far

  int64_t vocabulary() const { return output().weight.dim(0); }  // V

  // Adds tokens to every row, one or more.
  Tensor extend(std::span<const std::vector<int32_t>> tokens, Pass& pass);
  // The same logits in blocks of tokens, which are not stored together (kernel/matmul.h).
  void extend(std::span<const std::vector<int32_t>> tokens, Pass& pass, int parts,
              FunctionRef<void(const kernel::ProductBlock&)> take);
  // The logits of a few tokens of each row that include its counts[r] largest (OutputProjection::largest_logits).
  OutputProjection::LargestLogits extend_to_largest(std::span<const std::vector<int32_t>> tokens, Pass& pass,
                                                    std::span<const int64_t> counts,
                                                    std::span<const std::vector<int32_t>> also);
  bool searches_largest(int64_t rows) const { return output().searches_largest(rows); }
  // Row r continues row source[r]; rows not listed are dropped. Rows of the same source sentence should stay adjacent,
  // so that they share what belongs to it.
  virtual void reorder(std::span<const int64_t> source) = 0;
  // The rows of the other, which is of the same model, follow these.
  virtual void join(Decoding& other) = 0;

  // Adds tokens one by one, or with the same bits several at once: the logits (N,V) after each, those of row 0 first. A
  // row takes at most max_at_once() of them: 1 where a model has other bits for several, or cannot go back.
  virtual Tensor extend_each(std::span<const std::vector<int32_t>> tokens, Pass& pass);
  virtual int64_t max_at_once(int64_t row) const;
  // Row r keeps its first lengths[r] tokens, or none if the model cannot keep these alone: position() says which.
  virtual void truncate(std::span<const int64_t> lengths);

  // Logits are of these tokens only, in this order, and have the bits that they have among all. Rows that join later are
  // of the same tokens. Errors: no tokens, or ids outside the vocabulary.
  virtual void restrict_logits(std::span<const int32_t> tokens) = 0;

  // One token for each row.
  Tensor extend(std::span<const int32_t> tokens, Pass& pass);

 protected:
  virtual Tensor advance(std::span<const std::vector<int32_t>> tokens,
                         Pass& pass) = 0;  // (R,C), of the last tokens
  virtual const OutputProjection& output() const = 0;
};

}  // namespace qkv
