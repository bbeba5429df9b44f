// Attention of single queries, as in decoding: lanes are columns of keys and values. Limited by the memory
// bandwidth of reading K and V; bf16 halves it, int8 quarters it.

#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// Queries computed together: they share a row that was loaded and converted to floats.
constexpr int max_queries = 4;

// The scores of Q queries and lanes / Q keys: 16 partial sums for each (query, key) pair, then one tree adds up all of them.
// A pair is summed in the same order for every Q. If there are fewer keys, the last one is repeated. What is `ahead` numbers
// further is prefetched.
template <int Q, bool all, class T>
QKV_INLINE vf score_block(const SingleScores<T>& x, const float* q, const T* k, int64_t ahead, int keys) {
  constexpr int at_once = lanes / Q;
  const auto row = [&](int n) { return k + (all || n < keys ? n : keys - 1) * x.k_stride; };
  // Pass p adds the columns that belong to vector p of the 16 partial sums.
  vf sums[sums_vectors][lanes];
#pragma GCC unroll 4
  for (int p = 0; p < sums_vectors; ++p) {
    vf sum[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) sum[i] = vf{};
    int64_t d = p * lanes;
    for (; d + lanes <= x.D; d += partial_sums) {
      vf query[Q];
#pragma GCC unroll 4
      for (int i = 0; i < Q; ++i) query[i] = load(q + i * x.q_stride + d);
#pragma GCC unroll 16
      for (int n = 0; n < at_once; ++n) {
        if (p == 0) __builtin_prefetch(row(n) + ahead + d);  // a line has all columns of a turn
        const vf key = load_as_float(row(n) + d);
#pragma GCC unroll 4
        for (int i = 0; i < Q; ++i) sum[i * at_once + n] = fused(query[i], key, sum[i * at_once + n]);
      }
    }
    const int rest = static_cast<int>(x.D - d);
    if (rest > 0) {
#pragma GCC unroll 16
      for (int n = 0; n < at_once; ++n) {
        const vf key = load_part_as_float(row(n) + d, rest);
#pragma GCC unroll 4
        for (int i = 0; i < Q; ++i)
          sum[i * at_once + n] = fused(load_part(q + i * x.q_stride + d, rest), key, sum[i * at_once + n]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) sums[p][i] = sum[i];
  }
  vf sum[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    vf parts[sums_vectors];
#pragma GCC unroll 4
    for (int p = 0; p < sums_vectors; ++p) parts[p] = sums[p][i];
    sum[i] = sum_vectors(parts);
  }
  return sums_of_lanes(sum) * x.scale;
}

template <int Q, class T>
void score_rows(const SingleScores<T>& x, int64_t first) {
  constexpr int at_once = lanes / Q;
  const float* q = x.q + first * x.q_stride;
  float* s = x.s + first * x.s_stride;
  float scores_of_block[lanes];
  for (int64_t j = 0; j < x.keys; j += at_once) {
    const T* k = x.k + j * x.k_stride;
    const int64_t ahead = x.ahead.numbers(j, x.k_stride);
    const int keys = static_cast<int>(x.keys - j < at_once ? x.keys - j : at_once);
    const vf block =
        keys == at_once ? score_block<Q, true>(x, q, k, ahead, keys) : score_block<Q, false>(x, q, k, ahead, keys);
    if (Q == 1 && keys == at_once) {
      store(s + j, block);
      continue;
    }
    store(scores_of_block, block);
    for (int i = 0; i < Q; ++i)
      for (int n = 0; n < keys; ++n) s[i * x.s_stride + j + n] = scores_of_block[i * at_once + n];
  }
}

template <class T>
void scores(const SingleScores<T>& x) {
  int64_t i = 0;
  for (; i + max_queries <= x.queries; i += max_queries) score_rows<max_queries>(x, i);
  for (; i < x.queries; ++i) score_rows<1>(x, i);
}

// NV vectors of columns, or the last `rest` columns (NV = 1). Keys are added to two sums in turn, so that additions overlap; the
// order does not depend on the number of columns.
template <int Q, int NV, class T>
void output_columns(const SingleOutput<T>& x, int64_t first, int64_t e, int rest = 0) {
  vf even[Q][NV] = {}, odd[Q][NV] = {};
  const T* v = x.v + e;
  const float* w = x.w + first * x.w_stride;
  const auto add = [&](int64_t j, int64_t ahead, vf(&sum)[Q][NV]) {
#pragma GCC unroll 4
    for (int n = 0; n < NV; ++n) {
      if (n * lanes % partial_sums == 0) __builtin_prefetch(v + j * x.v_stride + ahead + n * lanes);
      const T* at = v + j * x.v_stride + n * lanes;
      const vf value = NV == 1 && rest ? load_part_as_float(at, rest) : load_as_float(at);
#pragma GCC unroll 4
      for (int i = 0; i < Q; ++i) sum[i][n] = fused(broadcast(w[i * x.w_stride + j]), value, sum[i][n]);
    }
  };
  int64_t j = 0;
  for (; j + 1 < x.keys; j += 2) {
    const int64_t ahead = x.ahead.numbers(j, x.v_stride);
    add(j, ahead, even);
    add(j + 1, ahead, odd);
  }
  if (j < x.keys) add(j, x.ahead.numbers(j, x.v_stride), even);
#pragma GCC unroll 4
  for (int i = 0; i < Q; ++i)
#pragma GCC unroll 4
    for (int n = 0; n < NV; ++n) {
      float* out = x.out + (first + i) * x.out_stride + e + n * lanes;
      const vf sum = even[i][n] + odd[i][n];
      if (NV == 1 && rest)
        store_part(out, load_part(out, rest) * x.rescale[first + i] + sum, rest);
      else
        store(out, load(out) * x.rescale[first + i] + sum);
    }
}

template <int Q, class T>
void output_rows(const SingleOutput<T>& x, int64_t first) {
  constexpr int vectors = Q == 1 ? 4 : lanes == 16 ? 2 : 1;  // as fit the registers
  int64_t e = 0;
  for (; e + vectors * lanes <= x.E; e += vectors * lanes) output_columns<Q, vectors>(x, first, e);
  if constexpr (vectors == 4)
    for (; e + 2 * lanes <= x.E; e += 2 * lanes) output_columns<Q, 2>(x, first, e);
  for (; e + lanes <= x.E; e += lanes) output_columns<Q, 1>(x, first, e);
  if (e < x.E) output_columns<Q, 1>(x, first, e, static_cast<int>(x.E - e));
}

template <class T>
void output(const SingleOutput<T>& x) {
  int64_t i = 0;
  for (; i + max_queries <= x.queries; i += max_queries) output_rows<max_queries>(x, i);
  for (; i < x.queries; ++i) output_rows<1>(x, i);
}

}  // namespace

SingleQueryKernels<float> single_query() { return {.scores = scores<float>, .output = output<float>}; }
SingleQueryKernels<uint16_t> single_query_bf16() {
  return {.scores = scores<uint16_t>, .output = output<uint16_t>};
}
SingleQueryKernels<int8_t> single_query_int8() { return {.scores = scores<int8_t>, .output = output<int8_t>}; }

void single_softmax_step(float* s, int64_t n, RunningSoftmax running) {
  const float maximum = max_over(s, n, *running.maximum), reference = maximum == -INFINITY ? 0.0f : maximum;
  const float sum = sum_over<16>(n, [&](auto at, int64_t j) {
    const vf p = at.only(exp2_or_zero((at(s + j) - reference) * log2_e));
    at.put(s + j, p);
    return p;
  });
  const vf old = broadcast((*running.maximum - reference) * log2_e);
  const float rescale = exp2_or_zero(old)[0];
  *running.maximum = maximum;
  *running.rescale = rescale;
  *running.sum = *running.sum * rescale + sum;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
