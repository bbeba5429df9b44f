// The numbers of a row that are larger than the largest so far, of which there are few.
//
//     for_each_larger(logits, [&] { return largest; }, [&](int64_t v) { largest = logits[v]; });
#pragma once

#include <cstdint>
#include <span>

#include "qkv/kernel/kernels.h"

namespace qkv {

// Calls visit(i), i ascending, for each number that is larger than threshold() is by then, or NaN.
template <class Threshold, class Visit>
void for_each_larger(std::span<const float> numbers, Threshold threshold, Visit visit) {
  const kernel::RowKernels& rows = kernel::kernels().rows;
  const auto size = std::ssize(numbers);
  const auto next = [&](int64_t i) { return i + rows.first_above(numbers.data() + i, size - i, threshold()); };
  for (int64_t i = next(0); i < size; i = next(i + 1)) visit(i);
}

}  // namespace qkv
