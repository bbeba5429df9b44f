// Maximum inner product search: where in a row of x W^T + b the largest numbers are, without the whole product.
//
//     const MaximumInnerProduct search(weight.forward());                             // W^T, in f32 or bf16
//     const auto found = search.candidates(x, {}, {1, 1});                            // x (2,K); of each row, its largest
//     Variable y = linear(x, weight.rows((*found)[0]));                               // a few of N columns, with their bits
//
// The product is first computed from int8 copies of both factors. By the Cauchy-Schwarz inequality that differs from the
// product by at most
//
//     |x w - x' w'|  <=  |x - x'| |w'| + |x| |w - w'|        for a row x, a row w of W, and their copies x' and w'
//
// so a number that cannot reach the largest need not be computed: of 32,000 columns some ten can. What floats round, in both
// products, is part of the bound. (Auvolat et al., "Clustering is efficient for approximate maximum inner product
// search", 2015, has the problem; there the search is not exact.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/kernel/matmul.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

class MaximumInnerProduct {
 public:
  // Whether a search takes less time than the product of that number of rows: where that is limited by reading W.
  static bool is_faster(const kernel::PackedMatrix& w, int64_t rows);
  explicit MaximumInnerProduct(const kernel::PackedMatrix& w);  // W^T (K x N); it takes N (K + 12) bytes

  // For each row of x (R,K), contiguous: sorted columns, among which are those of its counts[r] largest numbers, and of the
  // numbers equal to them. None if a row has numbers that are not finite, or if too many of the product would be needed.
  std::optional<std::vector<std::vector<int32_t>>> candidates(const Tensor& x, const Tensor& bias,
                                                              std::span<const int64_t> counts) const;

  int64_t bytes() const { return int8_.bytes() + 8 * int8_.columns(); }

 private:
  bool rounds_rows_ = false;
  kernel::PackedMatrix int8_;
  std::vector<float> norms_, errors_;  // |w'| and |w - w'|, rounded up
  bool is_finite_ = true;
};

}  // namespace qkv
