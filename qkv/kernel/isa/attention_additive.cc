// Scores of additive attention (Bahdanau et al., 2015): s_ji = sum_f w_f tanh(q_fi + k_jf).
// Only the sums over f leave the registers: the (queries, keys, features) array is never stored.
//
// With E = e^2(q + k) = e^2q e^2k and r = 1 / (1 + E), tanh(q + k) = 1 - 2r and its slope is 4r (1 - r). So an
// exponential is computed once per query and once per key, and a pair costs a few multiply-adds and half a
// division. A tile where the product of two 1 + E might overflow computes every tanh instead.

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

constexpr float safe = 10.0f;  // e^(8 * safe) is a float

constexpr vi magnitude_bits = lane_numbers * 0 + 0x7fffffff;  // all but the sign
QKV_INLINE vf magnitude(vf x) { return from_bits(bits_of(x) & magnitude_bits); }

// tanh(x) and its slope 1 - tanh(x)^2, from e = exp(-2 |x|): both keep their precision where tanh is near 1.
struct Tanh {
  vf value, slope;
};
QKV_INLINE Tanh tanh(vf x) {
  const vf e = exp(magnitude(x) * -2.0f), r = 1.0f / (1.0f + e);
  const vf t = (1.0f - e) * r;
  return {from_bits(bits_of(t) | (bits_of(x) & ~magnitude_bits)), 4.0f * e * r * r};
}

// Whether all of x (rows x columns) are small enough.
bool are_safe(const float* x, int64_t stride, int64_t rows, int64_t columns) {
  const vf zero = {};
  vf largest = zero;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) largest = max(magnitude(load(x + r * stride + c)), largest);
    if (c < columns)
      largest = max(magnitude(load_part(x + r * stride + c, static_cast<int>(columns - c))), largest);
  }
  return max_lanes(largest) <= safe;
}

bool are_safe(const AdditiveTile& t) {
  return are_safe(t.q, t.q_stride, t.features, t.width) && are_safe(t.k, t.k_stride, t.keys, t.features);
}

void plain_scores(const AdditiveTile& t, float* s) {
  for (int64_t j = 0; j < t.keys; ++j) {
    for (int64_t i = 0; i < t.width; i += lanes) {
      vf sum = {};
      for (int64_t f = 0; f < t.features; ++f)
        sum += t.w[f] * tanh(load(t.q + f * t.q_stride + i) + t.k[j * t.k_stride + f]).value;
      store(s + j * t.width + i, sum);
    }
  }
}

void plain_backward(const AdditiveTile& t, const float* ds, const AdditiveGradients& g) {
  for (int64_t j = 0; j < t.keys; ++j) {
    for (int64_t f = 0; f < t.features; ++f) {
      vf to_k[sums_vectors] = {}, to_w[sums_vectors] = {};
      for (int p = 0; p < sums_vectors; ++p)
        for (int64_t i = p * lanes; i < t.width; i += partial_sums) {
          const vf d = load(ds + j * t.width + i);
          const Tanh th = tanh(load(t.q + f * t.q_stride + i) + t.k[j * t.k_stride + f]);
          const vf u = d * t.w[f] * th.slope;
          float* dq = g.dq + f * t.q_stride + i;
          store(dq, load(dq) + u);
          to_k[p] += u;
          to_w[p] += d * th.value;
        }
      g.dk[j * g.dk_stride + f] += sum_all(to_k);
      g.dw[f] += sum_all(to_w);
    }
  }
}

// KEYS keys by NV vectors of queries; eq (features x width) and ek (KEYS x features) are exponentials.
template <int KEYS, int NV>
void score_panel(const float* eq, int64_t width, const float* ek, const AdditiveTile& t, float* s) {
  vf sum[KEYS][NV];
#pragma GCC unroll 8
  for (int j = 0; j < KEYS; ++j)
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) sum[j][n] = vf{};
  int64_t f = 0;
  for (; f + 1 < t.features; f += 2) {
    const vf w1 = broadcast(2.0f * t.w[f]), w2 = broadcast(2.0f * t.w[f + 1]), w = broadcast(t.w[f] + t.w[f + 1]);
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) {
      const vf q1 = load(eq + f * width + n * lanes), q2 = load(eq + (f + 1) * width + n * lanes);
#pragma GCC unroll 8
      for (int j = 0; j < KEYS; ++j) {
        const float* k = ek + j * t.features + f;
        const vf x1 = q1 * k[0] + 1.0f, x2 = q2 * k[1] + 1.0f;
        // w1 / x1 + w2 / x2 by one division. Taken from w here, not from the sum of w at the end: the sums stay as small as
        // the scores, so they lose no digits where every tanh is small.
        sum[j][n] += w - fused(w1, x2, w2 * x1) / (x1 * x2);
      }
    }
  }
  if (f < t.features) {
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) {
      const vf q = load(eq + f * width + n * lanes);
#pragma GCC unroll 8
      for (int j = 0; j < KEYS; ++j) {
        const vf k = broadcast(ek[j * t.features + f]);
        sum[j][n] += t.w[f] * ((q * k - 1.0f) / (q * k + 1.0f));
      }
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < KEYS; ++j)
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) store(s + j * t.width + n * lanes, sum[j][n]);
}

template <int NV>
void score_columns(const float* eq, const float* ek, const AdditiveTile& t, float* s) {
  int64_t j = 0;
  constexpr int max_keys = lanes == 16 ? 6 : 4 / NV;
  for (; j + max_keys <= t.keys; j += max_keys)
    score_panel<max_keys, NV>(eq, t.width, ek + j * t.features, t, s + j * t.width);
  for (; j < t.keys; ++j) score_panel<1, NV>(eq, t.width, ek + j * t.features, t, s + j * t.width);
}

QKV_INLINE vf exp_of_twice(vf x) { return exp2(x * (2.0f * log2_e)); }

// Four keys, or one, by four queries, lanes are features: all sums stay where they are.
template <int KEYS>
QKV_INLINE void backward_block(const float* eq, const float* ek, const float* ds, int64_t width, float* dq,
                               vf (&dk)[KEYS], vf& dw) {
  constexpr int queries = 4;
  vf q[queries], to_q[queries];
#pragma GCC unroll 4
  for (int i = 0; i < queries; ++i) {
    q[i] = load(eq + i * lanes);
    to_q[i] = load(dq + i * lanes);
  }
#pragma GCC unroll 4
  for (int j = 0; j < KEYS; ++j) {
    const vf k = load(ek + j * lanes);
#pragma GCC unroll 4
    for (int i = 0; i < queries; i += 2) {
      const vf x1 = q[i] * k + 1.0f, x2 = q[i + 1] * k + 1.0f,
               r = 1.0f / (x1 * x2);  // one division for two queries
      const vf r1 = x2 * r, r2 = x1 * r;
      const vf u1 = r1 * ds[j * width + i], u2 = r2 * ds[j * width + i + 1];
      const vf slope1 = u1 - u1 * r1, slope2 = u2 - u2 * r2;
      to_q[i] += slope1;
      to_q[i + 1] += slope2;
      dk[j] = (dk[j] + slope1) + slope2;
      dw = (dw + u1) + u2;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < queries; ++i) store(dq + i * lanes, to_q[i]);
}

template <int KEYS>
void backward_keys(const float* eq, const float* ek, const float* ds, int64_t width, float* dq, float* dk,
                   int64_t dk_stride, vf scale, int features, vf& dw) {
  vf sum[KEYS];
#pragma GCC unroll 4
  for (int j = 0; j < KEYS; ++j) sum[j] = vf{};
  for (int64_t i = 0; i < width; i += 4)
    backward_block<KEYS>(eq + i * lanes, ek, ds + i, width, dq + i * lanes, sum, dw);
  for (int j = 0; j < KEYS; ++j) {
    float* to = dk + j * dk_stride;
    if (features == lanes)
      store(to, fused(scale, sum[j], load(to)));
    else
      store_part(to, fused(scale, sum[j], load_part(to, features)), features);
  }
}

// Features [f, f + features) of a tile. eq, dq (width x lanes), ek (keys x lanes): memory.
void backward_features(const AdditiveTile& t, int64_t f, int features, const float* ds, float sum_of_ds,
                       const AdditiveGradients& g, float* eq, float* ek, float* dq) {
  for (int64_t i = 0; i < t.width; i += lanes) {
    vf square[lanes];
    for (int n = 0; n < lanes; ++n) {
      square[n] = n < features ? load(t.q + (f + n) * t.q_stride + i) : vf{};
      store(dq + (i + n) * lanes, vf{});
    }
    transpose(square);
    for (int n = 0; n < lanes; ++n) store(eq + (i + n) * lanes, exp_of_twice(square[n]));
  }
  for (int64_t j = 0; j < t.keys; ++j) {
    const float* k = t.k + j * t.k_stride + f;
    store(ek + j * lanes, exp_of_twice(features == lanes ? load(k) : load_part(k, features)));
  }

  const vf scale = 4.0f * (features == lanes ? load(t.w + f) : load_part(t.w + f, features));
  vf dw = {};
  int64_t j = 0;
  for (; j + 4 <= t.keys; j += 4)
    backward_keys<4>(eq, ek + j * lanes, ds + j * t.width, t.width, dq, g.dk + j * g.dk_stride + f, g.dk_stride,
                     scale, features, dw);
  for (; j < t.keys; ++j)
    backward_keys<1>(eq, ek + j * lanes, ds + j * t.width, t.width, dq, g.dk + j * g.dk_stride + f, g.dk_stride,
                     scale, features, dw);

  for (int64_t i = 0; i < t.width; i += lanes) {
    vf square[lanes];
    for (int n = 0; n < lanes; ++n) square[n] = scale * load(dq + (i + n) * lanes);
    transpose(square);
    for (int n = 0; n < features; ++n) {
      float* to = g.dq + (f + n) * t.q_stride + i;
      store(to, load(to) + square[n]);
    }
  }
  for (int n = 0; n < features; ++n) g.dw[f + n] += sum_of_ds - 2.0f * dw[n];
}

}  // namespace

void additive(const AdditiveTile& t, float* s, float* memory) {
  if (!are_safe(t)) return plain_scores(t, s);
  float *eq = memory, *ek = memory + t.features * t.width;
  for (int64_t f = 0; f < t.features; ++f)
    for (int64_t i = 0; i < t.width; i += lanes)
      store(eq + f * t.width + i, exp_of_twice(load(t.q + f * t.q_stride + i)));
  for (int64_t j = 0; j < t.keys; ++j) {
    int64_t f = 0;
    const float* k = t.k + j * t.k_stride;
    for (; f + lanes <= t.features; f += lanes) store(ek + j * t.features + f, exp_of_twice(load(k + f)));
    const int rest = static_cast<int>(t.features - f);
    if (rest > 0) store_part(ek + j * t.features + f, exp_of_twice(load_part(k + f, rest)), rest);
  }
  int64_t i = 0;
  for (; i + 2 * lanes <= t.width; i += 2 * lanes) score_columns<2>(eq + i, ek, t, s + i);
  if (i < t.width) score_columns<1>(eq + i, ek, t, s + i);
}

void additive_backward(const AdditiveTile& t, const float* ds, const AdditiveGradients& g, float* memory) {
  if (!are_safe(t)) return plain_backward(t, ds, g);
  vf sum[sums_vectors] = {};
  for (int p = 0; p < sums_vectors; ++p)
    for (int64_t i = p * lanes; i < t.width; i += partial_sums)
      for (int64_t j = 0; j < t.keys; ++j) sum[p] += load(ds + j * t.width + i);
  const float sum_of_ds = sum_all(sum);
  float *eq = memory, *dq = eq + t.width * lanes, *ek = dq + t.width * lanes;
  for (int64_t f = 0; f < t.features; f += lanes) {
    const int features = static_cast<int>(t.features - f < lanes ? t.features - f : lanes);
    backward_features(t, f, features, ds, sum_of_ds, g, eq, ek, dq);
  }
}

int64_t additive_memory(const AdditiveTile& t) {
  const int64_t forward = t.features * (t.width + t.keys), backward = (2 * t.width + t.keys) * lanes;
  return forward > backward ? forward : backward;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
