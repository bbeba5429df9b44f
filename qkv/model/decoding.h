// Sequences that grow token by token: what search and sampling see of a model.
//
//     std::unique_ptr<Decoding> rows = model.start(encoded);          // a row for each source, empty
//     Tensor logits = rows->extend({{bos}, {bos, 5}}, pass);          // (R,V), of the token after the last one
//     rows->reorder({0, 0, 1});                                       // two continuations of row 0, one of row 1
//     rows->join(*model.start(more));                                 // more rows, at positions of their own
//
// The logits of a row do not depend on the other rows. Errors: rows without tokens, ids outside the vocabulary,
// positions beyond the model's limit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/layer/pass.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

class Decoding {
 public:
  virtual ~Decoding() = default;

  virtual int64_t rows() const = 0;
  virtual int64_t position(int64_t row) const = 0;  // the number of its tokens so far

  // Adds tokens to every row, one or more.
  virtual Tensor extend(std::span<const std::vector<int32_t>> tokens, Pass& pass) = 0;
  // Row r continues row source[r]; rows not listed are dropped. Rows of the same source sentence should stay adjacent,
  // so that they share what belongs to it.
  virtual void reorder(std::span<const int64_t> source) = 0;
  // The rows of the other, which is of the same model, follow these.
  virtual void join(Decoding& other) = 0;

  // One token for each row.
  Tensor extend(std::span<const int32_t> tokens, Pass& pass);
};

}  // namespace qkv
