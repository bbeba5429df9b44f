// Sinusoidal position encoding (Vaswani et al., 2017, section 3.5), P[p, c] for c < C, in the layouts of published
// models:
//
//     interleaved      sin(p / 10000^(2k/C)) at c = 2k,   cos(p / 10000^(2k/C)) at c = 2k + 1       the paper
//     halves           sin(p / 10000^(2k/C)) at c = k,    cos(p / 10000^(2k/C)) at c = C/2 + k      Hugging Face's Marian
//     tensor2tensor    sin(p / 10000^(k/(C/2-1))) at c = k, cos of the same at c = C/2 + k          tensor2tensor, Marian
//
//     Tensor table = sinusoidal(100, 512);          // positions 0 to 99, (100, 512)
//     Tensor other = sinusoidal(100, 512, {.layout = SinusoidLayout::halves, .first = 100});
//
// Row i is position first + i. C may be odd with the layout interleaved, else it is even. Computed in double.
// Errors: a negative length or position, a width that the layout does not have.
#pragma once

#include "qkv/base/names.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

enum class SinusoidLayout { interleaved, halves, tensor2tensor };
constexpr auto names_of(SinusoidLayout) {
  return std::array{Named{SinusoidLayout::interleaved, "interleaved"}, Named{SinusoidLayout::halves, "halves"},
                    Named{SinusoidLayout::tensor2tensor, "tensor2tensor"}};
}

struct SinusoidOptions {
  SinusoidLayout layout = SinusoidLayout::interleaved;
  int64_t first = 0;
};
Tensor sinusoidal(int64_t length, int64_t width, const SinusoidOptions& options = {});

}  // namespace qkv
