// The loss that an update minimises: cross entropy with label smoothing, and R-Drop (Wu et al., 2021), whose formula is
// in op/cross_entropy.h. For R-Drop every row of a batch occurs twice in one pass; the two differ in their dropout.
//
//     TrainingLoss loss{.label_smoothing = 0.1, .r_drop = 5};
//     if (loss.r_drop > 0) ids = twice(ids);                                      // (B,T) -> (2B,T)
//     model.loss(ids, twice(targets), loss.cross_entropy(), pass);
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/op/cross_entropy.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct TrainingLoss {
  double label_smoothing = 0;
  double r_drop = 0;  // the weight of R-Drop; 0: one pass over a batch

  // The sum over the tokens of a batch.
  CrossEntropyOptions cross_entropy() const {
    return {.label_smoothing = static_cast<float>(label_smoothing),
            .r_drop = static_cast<float>(r_drop),
            .reduction = CrossEntropyOptions::Reduction::sum};
  }
};

// The rows (B,...) of i32, and once more.
Tensor twice(const Tensor& rows);
std::vector<int32_t> twice(const std::vector<int32_t>& rows);

}  // namespace qkv
