// Scales for numbers that are stored as small integers: those of the least weighted squared error
//
//     sum_i w_i (x_i - y_i)^2,   w_i = |x_i| + root mean square of x
//
// among a few ways to round: large numbers of a weight matter more, since they carry most of a product. For a given
// rounding q the best scale (and offset) is a least-squares solution; the search is over scales to round with.
//
//     Importance w(x, 16);
//     float d = scale_for(x, w.data(), 16, {-4, 3});        // x_i ~ d q_i, q_i = -4 to 3
//     ScaleAndOffset s = scale_and_offset_for(x, w.data(), 16, 3);   // x_i ~ s.scale q_i - s.offset, q_i = 0 to 3
//
// x must be finite, and its magnitudes within fits_search(). The sums have a fixed order: the same bits on every machine.
#pragma once

#include <array>

namespace qkv {

struct CodeRange {
  int low, high;
};
struct ScaleAndOffset {
  float scale = 0, offset = 0;  // the offset is not negative
};

// w_i of n <= 32 numbers.
class Importance {
 public:
  Importance(const float* x, int n);
  const float* data() const { return weights_.data(); }

 private:
  std::array<float, 32> weights_{};
};

// Whether squares of such numbers are far from overflow. More than the largest number of any format of blocks fits.
bool fits_search(float largest_magnitude);
// Below this, every format of blocks stores zeros.
bool is_zero_in_blocks(float largest_magnitude);

float scale_for(const float* x, const float* w, int n, CodeRange range);
ScaleAndOffset scale_and_offset_for(const float* x, const float* w, int n, int high);

// The error of x_i ~ scale q_i - offset, with the nearest q_i of the range.
float error_of(const float* x, const float* w, int n, ScaleAndOffset s, CodeRange range);
int nearest_code(float x, ScaleAndOffset s, CodeRange range);

}  // namespace qkv
