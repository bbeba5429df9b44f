// The logits of a row that are larger than the largest so far, of which there are few.
//
//     for_each_larger(logits, [&] { return largest; }, [&](int64_t v) { largest = logits[v]; });
#pragma once

#include <cstdint>
#include <span>

#include "qkv/kernel/kernels.h"

namespace qkv {

// Calls visit(v), v ascending, for each logit that is larger than threshold() is by then, or NaN.
template <class Threshold, class Visit>
void for_each_larger(std::span<const float> logits, Threshold threshold, Visit visit) {
  const kernel::RowKernels& rows = kernel::kernels().rows;
  const auto size = std::ssize(logits);
  const auto next = [&](int64_t v) { return v + rows.first_above(logits.data() + v, size - v, threshold()); };
  for (int64_t v = next(0); v < size; v = next(v + 1)) visit(v);
}

}  // namespace qkv
