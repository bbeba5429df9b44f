#include "qkv/op/lstm.h"

#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

// saved: i, f, g, o. A state is [h; c].
void lstm_forward(int64_t W, const float* input, const float* hidden, const float* before, float* saved,
                  float* after) {
  const kernel::RowKernels& rows = kernel::kernels().rows;
  const float *i = saved, *f = saved + W, *g = saved + 2 * W, *o = saved + 3 * W;
  rows.add(input, hidden, 4 * W, saved);
  rows.sigmoid(i, 2 * W, saved);
  rows.tanh(g, W, saved + 2 * W);
  rows.sigmoid(o, W, saved + 3 * W);
  float *h = after, *c = after + W;
  for (int64_t k = 0; k < W; ++k) c[k] = f[k] * before[W + k] + i[k] * g[k];
  rows.tanh(c, W, h);
  rows.multiply(o, h, W, h);
}

void lstm_backward(int64_t W, const float* saved, const float* before, const float* after,
                   const RecurrenceCell::Gradients& d) {
  const float *i = saved, *f = saved + W, *g = saved + 2 * W, *o = saved + 3 * W;
  float* tanh_c = d.input;  // replaced at the end
  kernel::kernels().rows.tanh(after + W, W, tanh_c);
  for (int64_t k = 0; k < W; ++k) {
    const float dh = d.state[k], t = tanh_c[k];
    const float dc = d.state[W + k] + dh * o[k] * (1 - t * t);
    d.input[k] = dc * g[k] * i[k] * (1 - i[k]);               // of a_i
    d.input[W + k] = dc * before[W + k] * f[k] * (1 - f[k]);  // of a_f
    d.input[2 * W + k] = dc * i[k] * (1 - g[k] * g[k]);       // of a_g
    d.input[3 * W + k] = dh * t * o[k] * (1 - o[k]);          // of a_o
    d.state[k] = 0;
    d.state[W + k] = dc * f[k];
  }
}

}  // namespace

Variable lstm(const Variable& input, const Weight& w, const Variable& b, const RecurrenceOptions& options) {
  return recurrence({.name = "lstm",
                     .gates = 4,
                     .parts = 2,
                     .sums_hidden = true,
                     .forward = lstm_forward,
                     .backward = lstm_backward},
                    input, w, b, options);
}

}  // namespace qkv
