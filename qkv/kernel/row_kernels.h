// Row-wise and element-wise kernels of a Transformer: everything but matrix products and attention. x, y and so on
// are rows of n contiguous floats, n >= 0 (softmax, norms and cross_entropy: n >= 1). An output may be the same
// memory as any input row of the same length, unless the comment excludes it; they must not overlap in part.
//
// The result for an element depends on its row only, not on its address or the thread. Element-wise kernels give an
// element the same bits however a long array is cut into calls.
#pragma once

#include <cstdint>

namespace qkv::kernel {

// Dropout as a function of (seed, stream, index): element i of a stream is kept iff its 16-bit random number is
// below `threshold`; kept elements are multiplied by `scale`. The number is the 16-bit number i % 8 (low half of
// each 32-bit number first) of philox(seed, stream, i / 8), base/random.h.
struct DropoutKey {
  uint64_t seed, stream;
  uint32_t threshold;  // 0 .. 65536: 65536 (1 - rate)
  float scale;         // 65536 / threshold
};
DropoutKey dropout_key(uint64_t seed, uint64_t stream, float rate);  // rate: the probability of zero, [0, 1)

// One step of Adam (Kingma and Ba, 2015), with the decay of AdamW (Loshchilov and Hutter, 2019) when it is not 0:
//     g = grad_scale g;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//     p = p - lr weight_decay p - lr (m correction1) / (sqrt(v correction2) + eps)
struct AdamStep {
  double lr = 0.0, beta1 = 0.0, beta2 = 0.0, eps = 0.0;
  double weight_decay = 0.0;
  double correction1 = 1.0, correction2 = 1.0;  // 1 / (1 - beta^step)
  double grad_scale = 1.0;                      // of gradient clipping and accumulation
};

// What log sum exp of a row is made of: exp(largest) sum = sum exp(x).
struct ExponentialSum {
  float largest;  // of x
  float sum;      // of exp(x - largest); 0 if all are -infinity
};

// What positive() and where() below hold of 16 numbers.
inline constexpr int numbers_of_word = 16;

struct RowKernels {
  // y = exp(x - max) / sum; returns log(sum exp(x)). Entries equal to -infinity get weight 0; a row of only such
  // entries is all zero and returns -infinity.
  float (*softmax)(const float* x, int64_t n, float* y);
  // dx = y (dy - sum(y dy)), y being the output.
  void (*softmax_backward)(const float* y, const float* dy, int64_t n, float* dx);

  // y = (x - mean) rstd weight + bias, rstd = 1 / sqrt(variance + eps). weight, bias, mean and rstd may be null.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, int64_t n, float eps, float* y,
                     float* mean, float* rstd);
  // dx; the gradients of this row are added to dweight_sum and dbias_sum unless they are null. dx may be dy or x.
  void (*layer_norm_backward)(const float* dy, const float* x, const float* weight, float mean, float rstd,
                              int64_t n, float* dx, float* dweight_sum, float* dbias_sum);
  // y = x rstd weight, rstd = 1 / sqrt(mean of x^2 + eps).
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float eps, float* y, float* rstd);
  void (*rms_norm_backward)(const float* dy, const float* x, const float* weight, float rstd, int64_t n, float* dx,
                            float* dweight_sum);

  // Activations, and dx = dy f'(x).
  using Forward = void (*)(const float* x, int64_t n, float* y);
  using Backward = void (*)(const float* x, const float* dy, int64_t n, float* dx);
  Forward relu, gelu, gelu_tanh, silu, sigmoid, tanh;  // gelu is the exact one: x/2 (1 + erf(x / sqrt 2))
  Backward relu_backward, gelu_backward, gelu_tanh_backward, silu_backward, sigmoid_backward, tanh_backward;

  // Which numbers are positive, a word of 16 bits each: bit i % 16 of bits[i / 16] is that of x_i; bits past n are 0. And x where the bit is 1, else 0.
  void (*positive)(const float* x, int64_t n, uint16_t* bits);
  void (*where)(const uint16_t* bits, const float* x, int64_t n, float* y);

  void (*add)(const float* a, const float* b, int64_t n, float* y);           // y = a + b
  void (*multiply)(const float* a, const float* b, int64_t n, float* y);      // y = a b
  void (*multiply_add)(const float* a, const float* b, int64_t n, float* y);  // y += a b
  void (*scale)(const float* x, float s, int64_t n, float* y);                // y = s x
  void (*add_scaled)(const float* x, float s, int64_t n, float* y);           // y += s x

  // y = dropout(x), of elements first_index, first_index + 1, ... of the key's stream; it is its own backward.
  void (*dropout)(const float* x, int64_t n, const DropoutKey& key, int64_t first_index, float* y);
  // y = residual + dropout(x).
  void (*dropout_add)(const float* x, const float* residual, int64_t n, const DropoutKey& key, int64_t first_index,
                      float* y);

  // Cross entropy with label smoothing e: returns -(1 - e) log p[target] - (e / n) sum log p, p = softmax(logits);
  // dlogits (may be null) = scale (p - (1 - e) onehot(target) - e / n).
  float (*cross_entropy)(const float* logits, int64_t n, int64_t target, float smoothing, float scale,
                         float* dlogits);
  // KL(p | q) + KL(q | p) = sum (p - q) (log p - log q), p = softmax(x), q = softmax(y); dx and dy (may both be
  // null; not x, not y) += scale times the gradients.
  float (*symmetric_divergence)(const float* x, const float* y, int64_t n, float scale, float* dx, float* dy);

  ExponentialSum (*exponential_sum)(const float* x, int64_t n);

  void (*adam)(float* p, float* m, float* v, const float* g, int64_t n, const AdamStep& step);
  void (*widen)(const uint16_t* x, int64_t n, float* to);             // bf16 to floats
  void (*round_to_nearest)(const float* x, int64_t n, uint16_t* to);  // floats to bf16, ties to even
  // Floats to bf16: up with the probability of the part that is cut off, else down, so that the expected value is x. What is
  // random is a hash of the number and of the key: the same for any place of the number in a row.
  void (*round_stochastically)(const float* x, int64_t n, uint32_t key, uint16_t* to);
  double (*sum)(const float* x, int64_t n);
  double (*sum_of_squares)(const float* x, int64_t n);
  // The index of the first of x that is larger than the threshold, or NaN; n: none is.
  int64_t (*first_above)(const float* x, int64_t n, float threshold);
  // sum (n) += each of the count rows: gradients of biases.
  void (*add_rows)(float* sum, const float* rows, int64_t count, int64_t row_stride, int64_t n);
  // y = scale * table_row + position_row, which may be null.
  void (*embed)(const float* table_row, float scale, const float* position_row, int64_t n, float* y);
};

}  // namespace qkv::kernel
