#include "qkv/op/gru.h"

#include <algorithm>

#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

// saved: r, z, n, u_n.
void gru_forward(int64_t W, const float* input, const float* hidden, const float* before, float* saved,
                 float* after) {
  const kernel::RowKernels& rows = kernel::kernels().rows;
  rows.add(input, hidden, 2 * W, saved);
  rows.sigmoid(saved, 2 * W, saved);
  const float *r = saved, *z = saved + W;
  float *n = saved + 2 * W, *u = saved + 3 * W;
  std::copy_n(hidden + 2 * W, W, u);
  for (int64_t i = 0; i < W; ++i) n[i] = input[2 * W + i] + r[i] * u[i];
  rows.tanh(n, W, n);
  for (int64_t i = 0; i < W; ++i) after[i] = (1 - z[i]) * n[i] + z[i] * before[i];
}

void gru_backward(int64_t W, const float* saved, const float* before, const float*,
                  const RecurrenceCell::Gradients& d) {
  const float *r = saved, *z = saved + W, *n = saved + 2 * W, *u = saved + 3 * W;
  for (int64_t i = 0; i < W; ++i) {
    const float dh = d.state[i];
    const float dn = dh * (1 - z[i]) * (1 - n[i] * n[i]);          // of x_n + r * u_n
    const float dz = dh * (before[i] - n[i]) * z[i] * (1 - z[i]);  // of x_z + u_z
    const float dr = dn * u[i] * r[i] * (1 - r[i]);                // of x_r + u_r
    d.input[i] = d.hidden[i] = dr;
    d.input[W + i] = d.hidden[W + i] = dz;
    d.input[2 * W + i] = dn;
    d.hidden[2 * W + i] = dn * r[i];
    d.state[i] = dh * z[i];
  }
}

}  // namespace

Variable gru(const Variable& input, const Weight& w, const Variable& b, const RecurrenceOptions& options) {
  return recurrence({.name = "gru",
                     .gates = 3,
                     .parts = 1,
                     .sums_hidden = false,
                     .forward = gru_forward,
                     .backward = gru_backward},
                    input, w, b, options);
}

}  // namespace qkv
