#include "qkv/attention/attention.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

#ifdef QKV_TEST_AMX
namespace kernel::amx_in_software {
const Bf16Kernels& bf16_kernels();
}
#endif

namespace {

Tensor random_tensor(const Shape& shape, uint64_t stream, double spread = 1.0) {
  Random random(11, stream);
  Tensor x = Tensor::empty(shape);
  for (float& v : x.span<float>()) v = static_cast<float>(spread * random.normal());
  return x;
}

// Plain attention in float64, forward and backward, from the formulas.
struct Reference {
  std::vector<double> out, weights, lse, dq, dk, dv;
};

using Sees = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

std::vector<double> doubles(const Tensor& x) {
  const Tensor packed = x.contiguous_copy();
  return {packed.span<float>().begin(), packed.span<float>().end()};
}

double dot_product(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
void add_scaled(double* sum, double factor, const double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

Reference reference(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout, const Sees& sees) {
  const int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2), D = q.dim(3), G = k.dim(1), S = k.dim(2), E = v.dim(3);
  const double scale = 1.0 / std::sqrt(static_cast<double>(D));
  const std::vector<double> qs = doubles(q), ks = doubles(k), vs = doubles(v), ds = doubles(dout);
  Reference r;
  r.out.resize(ds.size());
  r.dq.resize(qs.size());
  r.dk.resize(ks.size());
  r.dv.resize(vs.size());
  r.weights.resize(static_cast<size_t>(B * H * T * S));
  r.lse.resize(static_cast<size_t>(B * H * T));
  std::vector<double> dp(static_cast<size_t>(S));
  for (int64_t row = 0; row < B * H * T; ++row) {
    const int64_t b = row / (H * T), h = row / T % H, i = row % T, first_key = (b * G + h * G / H) * S;
    const double *query = &qs[row * D], *upstream = &ds[row * E];
    const double *keys = ks.data() + first_key * D, *values = vs.data() + first_key * E;
    double* p = r.weights.data() + row * S;
    double maximum = -INFINITY, total = 0, delta = 0;
    for (int64_t j = 0; j < S; ++j) {
      p[j] = sees(b, h, i, j) ? scale * dot_product(query, keys + j * D, D) : -INFINITY;
      maximum = std::max(maximum, p[j]);
    }
    for (int64_t j = 0; j < S; ++j) total += p[j] == -INFINITY ? 0 : std::exp(p[j] - maximum);
    r.lse[row] = total > 0 ? maximum + std::log(total) : -INFINITY;
    for (int64_t j = 0; j < S; ++j) {
      p[j] = p[j] == -INFINITY ? 0 : std::exp(p[j] - maximum) / total;
      if (p[j] == 0) continue;
      dp[j] = dot_product(upstream, values + j * E, E);
      delta += p[j] * dp[j];
      add_scaled(&r.out[row * E], p[j], values + j * E, E);
      add_scaled(&r.dv[(first_key + j) * E], p[j], upstream, E);
    }
    for (int64_t j = 0; j < S; ++j) {
      if (p[j] == 0) continue;
      const double grad = p[j] * (dp[j] - delta) * scale;
      add_scaled(&r.dq[row * D], grad, keys + j * D, D);
      add_scaled(&r.dk[(first_key + j) * D], grad, query, D);
    }
  }
  return r;
}

void expect_close(const Tensor& got, const std::vector<double>& wanted, double tolerance, const std::string& what) {
  const Tensor packed = got.contiguous_copy();
  ASSERT_EQ(static_cast<size_t>(packed.numel()), wanted.size()) << what;
  double largest = 1e-3, worst = 0;
  for (const double w : wanted)
    if (!std::isinf(w)) largest = std::max(largest, std::abs(w));
  const auto values = packed.span<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double g = values[i];
    if (std::isinf(wanted[i])) {
      EXPECT_EQ(g, wanted[i]) << what << " at " << i;
    } else {
      const double error = std::abs(g - wanted[i]);
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  EXPECT_LE(worst / largest, tolerance) << what;
}

struct Sizes {
  int64_t B, H, G, T, S, D, E;
};

void check(const Sizes& n, const MaskPtr& mask, const Sees& sees, uint64_t stream) {
  SCOPED_TRACE(
      fmt::format("B{} H{} G{} T{} S{} D{} E{} {}", n.B, n.H, n.G, n.T, n.S, n.D, n.E, mask ? mask->name() : ""));
  const Variable q(random_tensor({n.B, n.H, n.T, n.D}, stream), {.requires_grad = true});
  const Variable k(random_tensor({n.B, n.G, n.S, n.D}, stream + 1), {.requires_grad = true});
  const Variable v(random_tensor({n.B, n.G, n.S, n.E}, stream + 2), {.requires_grad = true});
  const Tensor dout = random_tensor({n.B, n.H, n.T, n.E}, stream + 3);
  const auto [out, weights, lse] = attention_with_weights(q, k, v, {.mask = mask});
  out.backward(dout);
  const Reference r = reference(q.value(), k.value(), v.value(), dout, sees);
  expect_close(out.value(), r.out, 2e-6, "out");
  expect_close(weights, r.weights, 2e-6, "weights");
  expect_close(lse, r.lse, 2e-6, "lse");
  expect_close(q.grad(), r.dq, 8e-6, "dq");
  expect_close(k.grad(), r.dk, 8e-6, "dk");
  expect_close(v.grad(), r.dv, 8e-6, "dv");
}

const Sees everything = [](int64_t, int64_t, int64_t, int64_t) { return true; };

TEST(Attention, EqualsTheFormulaForAnyShape) {
  uint64_t stream = 1;
  for (const Sizes& n : {Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{2, 3, 1, 5, 9, 8, 3}, Sizes{1, 2, 2, 64, 128, 16, 16},
                         Sizes{1, 4, 2, 65, 129, 33, 40}, Sizes{2, 2, 1, 130, 300, 20, 70},
                         Sizes{1, 1, 1, 1, 500, 64, 64}, Sizes{1, 6, 3, 77, 3, 7, 130}})
    check(n, {}, everything, stream += 10);
}

TEST(Attention, EqualsTheFormulaUnderEveryMask) {
  const Sizes n{2, 4, 2, 150, 200, 24, 17};
  const auto position = [&](int64_t i) { return i + n.S - n.T; };
  const Sees is_causal = [&](int64_t, int64_t, int64_t i, int64_t j) { return j <= position(i); };
  const Sees in_window = [&](int64_t, int64_t, int64_t i, int64_t j) {
    return j >= position(i) - 20 && j <= position(i) + 3;
  };
  const std::vector<int32_t> lengths = {0, 133};
  const Sees is_real = [&](int64_t b, int64_t, int64_t, int64_t j) { return j < lengths[static_cast<size_t>(b)]; };
  check(n, causal(), is_causal, 100);
  check(n, window(20, 3), in_window, 200);
  check(n, padding(lengths), is_real, 300);
  check(
      n, causal() & padding(lengths),
      [&](auto b, auto h, auto i, auto j) { return is_causal(b, h, i, j) && is_real(b, h, i, j); }, 400);
  check(
      n, causal() | prefix(lengths),
      [&](auto b, auto h, auto i, auto j) { return is_causal(b, h, i, j) || is_real(b, h, i, j); }, 500);
  check(
      n, !window(20, 3), [&](auto b, auto h, auto i, auto j) { return !in_window(b, h, i, j); }, 600);

  Random random(3);
  Tensor table = Tensor::empty({1, n.H, n.T, n.S}, DType::u8);
  for (uint8_t& x : table.span<uint8_t>()) x = random.below(4) == 0;
  check(
      n, dense(table),
      [&](auto, auto h, auto i, auto j) {
        return table.at<uint8_t>({0, h, i, j}) != 0;
      },
      700);

  Tensor of_queries = Tensor::empty({n.B, n.T}, DType::i32), of_keys = Tensor::empty({n.B, n.S}, DType::i32);
  for (int64_t b = 0; b < n.B; ++b) {
    for (int64_t i = 0; i < n.T; ++i) of_queries.data<int32_t>()[b * n.T + i] = static_cast<int32_t>(i / 40);
    for (int64_t j = 0; j < n.S; ++j) of_keys.data<int32_t>()[b * n.S + j] = static_cast<int32_t>(j / 50);
  }
  check(
      n, documents(of_queries, of_keys), [](auto, auto, auto i, auto j) { return i / 40 == j / 50; }, 800);

  Tensor per_query = Tensor::empty({n.B, n.T}, DType::i32);
  for (int32_t& x : per_query.span<int32_t>())
    x = static_cast<int32_t>(random.below(static_cast<uint64_t>(n.S) + 1));
  check(
      n, padding(per_query),
      [&](auto b, auto, auto i, auto j) {
        return j < per_query.at<int32_t>({b, i});
      },
      900);
}

// bf16 inputs: exact arithmetic on them, compared with the precision of the type.
void check_bf16(const Sizes& n, const MaskPtr& mask, const Sees& sees, uint64_t stream) {
  SCOPED_TRACE(fmt::format("B{} H{} G{} T{} S{} D{} E{}", n.B, n.H, n.G, n.T, n.S, n.D, n.E));
  const auto draw = [&](const Shape& shape) { return random_tensor(shape, ++stream).to(DType::bf16); };
  const Variable q(draw({n.B, n.H, n.T, n.D}), {.requires_grad = true});
  const Variable k(draw({n.B, n.G, n.S, n.D}), {.requires_grad = true});
  const Variable v(draw({n.B, n.G, n.S, n.E}), {.requires_grad = true});
  const Tensor dout = draw({n.B, n.H, n.T, n.E});
  const Variable out = attention(q, k, v, {.mask = mask});
  out.backward(dout);
  const auto floats = [](const Tensor& x) { return x.to(DType::f32); };
  const Reference r = reference(floats(q.value()), floats(k.value()), floats(v.value()), floats(dout), sees);
  constexpr double half_unit = 0x1p-8;  // of a number just above a power of two
  expect_close(floats(out.value()), r.out, half_unit, "out");
  expect_close(floats(q.grad()), r.dq, 2 * half_unit, "dq");
  expect_close(floats(k.grad()), r.dk, 2 * half_unit, "dk");
  expect_close(floats(v.grad()), r.dv, 2 * half_unit, "dv");
  expect_close(floats(attention(q.value(), k.value(), v.value(), {.mask = mask})), r.out, half_unit, "inference");
}

TEST(Attention, TakesBf16OfAnyShape) {
  uint64_t stream = 5000;
  for (const Sizes& n :
       {Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{2, 3, 1, 5, 9, 8, 4}, Sizes{1, 2, 2, 64, 128, 16, 16},
        Sizes{1, 4, 2, 65, 129, 34, 40}, Sizes{2, 2, 1, 130, 301, 20, 70}, Sizes{1, 2, 1, 70, 99, 33, 7},
        Sizes{1, 4, 2, 1, 1100, 64, 64}, Sizes{1, 6, 3, 77, 3, 6, 130}, Sizes{1, 1, 1, 40, 1301, 8, 8}})
    check_bf16(n, {}, everything, stream += 10);
  check_bf16(
      {2, 4, 2, 150, 200, 24, 18}, causal() & window(33, 5),
      [](auto, auto, int64_t i, int64_t j) { return j <= i + 50 && j >= i + 50 - 33; }, stream);
}

// A gradient that only a weight of the score records excludes the single-query pass, for bf16 too.
TEST(Attention, RecordsTheWeightsOfAScoreForASingleBf16Query) {
  const auto gradient = [](DType dtype) {
    const auto draw = [&](const Shape& shape, uint64_t stream) {
      return random_tensor(shape, stream).to(DType::bf16).to(dtype);
    };
    const Variable m(random_tensor({6, 6}, 4), {.requires_grad = true});
    attention(Variable(draw({2, 2, 1, 6}, 1)), Variable(draw({2, 1, 9, 6}, 2)), Variable(draw({2, 1, 9, 4}, 3)),
              {.score = bilinear(m)})
        .backward(draw({2, 2, 1, 4}, 5));
    return m.grad();
  };
  expect_close(gradient(DType::bf16), doubles(gradient(DType::f32)), 0x1p-6, "m");
}

#ifdef QKV_TEST_AMX
TEST(Attention, TakesBf16ThroughTileRegisters) {
  if (!kernel::cpu_has("avx512_bf16") || kernel::kernels().lanes != 16) GTEST_SKIP() << "no products of bf16 here";
  kernel::Kernels tiled = kernel::kernels();
  tiled.attention.bf16 = &kernel::amx_in_software::bf16_kernels();
  const kernel::UseKernels guard(tiled);
  uint64_t stream = 6000;
  for (const Sizes& n :
       {Sizes{2, 3, 1, 5, 9, 8, 4}, Sizes{1, 2, 2, 64, 128, 64, 64}, Sizes{1, 4, 2, 65, 129, 34, 40},
        Sizes{2, 2, 1, 130, 301, 20, 70}, Sizes{1, 1, 1, 40, 1301, 8, 8}})
    check_bf16(n, {}, everything, stream += 10);
  check_bf16(
      {2, 4, 2, 150, 200, 24, 18}, causal() & window(33, 5),
      [](auto, auto, int64_t i, int64_t j) { return j <= i + 50 && j >= i + 50 - 33; }, stream);
}
#endif

TEST(Attention, AQueryThatSeesNoKeyHasZeroOutputAndZeroGradients) {
  const Sizes n{1, 2, 2, 9, 4, 8, 8};  // causal with T > S: the first five queries see no key
  const Variable q(random_tensor({n.B, n.H, n.T, n.D}, 1), {.requires_grad = true});
  const Variable k(random_tensor({n.B, n.G, n.S, n.D}, 2), {.requires_grad = true});
  const auto [out, weights, lse] = attention_with_weights(q, k, k, {.mask = causal()});
  out.backward(random_tensor(out.shape(), 3));
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lse.at<float>({0, 1, i}), -INFINITY);
    for (int64_t d = 0; d < n.D; ++d) {
      EXPECT_EQ(out.value().at<float>({0, 1, i, d}), 0.0f);
      EXPECT_EQ(q.grad().at<float>({0, 1, i, d}), 0.0f);
    }
    for (int64_t j = 0; j < n.S; ++j) EXPECT_EQ(weights.at<float>({0, 1, i, j}), 0.0f);
  }
  for (const float x : k.grad().span<float>()) EXPECT_FALSE(std::isnan(x));
}

TEST(Attention, AWidthOfZeroComparesNothingAndAllKeysCountTheSame) {
  const Tensor nothing = Tensor::zeros({1, 1, 3, 0}), v = random_tensor({1, 1, 3, 2}, 1);
  const Tensor out = attention(nothing, nothing, v, {.mask = causal()});
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t e = 0; e < 2; ++e) {
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) sum += v.at<float>({0, 0, j, e});
      EXPECT_NEAR(out.at<float>({0, 0, i, e}), sum / static_cast<double>(i + 1), 1e-6);
    }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  return x.shape() == y.shape() &&
         std::equal(x.span<float>().begin(), x.span<float>().end(), y.span<float>().begin());
}

TEST(Attention, ColumnsOfValuesDoNotDependOnEachOther) {
  const Tensor q = random_tensor({2, 2, 70, 16}, 1), k = random_tensor({2, 2, 100, 16}, 2);
  const Tensor v = random_tensor({2, 2, 100, 67}, 3), first = v.slice(3, 0, 64);  // whole vectors, or not
  for (const MaskPtr& mask : {MaskPtr(), causal(), window(9)})
    EXPECT_TRUE(
        same_bits(attention(q, k, first, {.mask = mask}), attention(q, k, v, {.mask = mask}).slice(3, 0, 64)));
}

TEST(Attention, GivesTheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  std::vector<Tensor> first;
  for (const int count : {1, 2, 3, 5}) {
    set_threads(count);
    const Variable q(random_tensor({2, 4, 100, 24}, 1), {.requires_grad = true});
    const Variable k(random_tensor({2, 2, 100, 24}, 2), {.requires_grad = true});
    const Variable v(random_tensor({2, 2, 100, 24}, 3), {.requires_grad = true});
    const Variable y = attention(q, k, v, {.mask = causal()});
    y.backward(random_tensor(y.shape(), 4));
    const std::vector<Tensor> now = {y.value(), q.grad(), k.grad(), v.grad()};
    if (first.empty()) first = now;
    for (size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(same_bits(first[i], now[i])) << count << " threads, " << i;
  }
  set_threads(before);
}

TEST(Attention, GivesASequenceTheSameBitsWithAnyNeighboursAndPadding) {
  const Tensor q = random_tensor({1, 2, 37, 24}, 1), k = random_tensor({1, 2, 53, 24}, 2),
               v = random_tensor({1, 2, 53, 24}, 3);
  const Tensor alone = attention(q, k, v);
  Tensor qs = random_tensor({3, 2, 90, 24}, 4), ks = random_tensor({3, 2, 140, 24}, 5),
         vs = random_tensor({3, 2, 140, 24}, 6);
  qs.slice(0, 1, 2).slice(2, 0, 37).copy_from(q);
  ks.slice(0, 1, 2).slice(2, 0, 53).copy_from(k);
  vs.slice(0, 1, 2).slice(2, 0, 53).copy_from(v);
  const Tensor together = attention(qs, ks, vs, {.mask = padding({140, 53, 7})});
  EXPECT_TRUE(same_bits(alone, together.slice(0, 1, 2).slice(2, 0, 37)));
}

TEST(Attention, ReadsStridedInputsAndKeepsTheirMemoryOrder) {
  const Tensor q = random_tensor({2, 20, 3, 16}, 1), k = random_tensor({2, 30, 3, 16}, 2);  // (B,T,H,D)
  const Tensor y = attention(q.transpose(1, 2), k.transpose(1, 2), k.transpose(1, 2));
  EXPECT_TRUE(y.transpose(1, 2).contiguous());
  EXPECT_TRUE(
      same_bits(y, attention(q.transpose(1, 2).clone(), k.transpose(1, 2).clone(), k.transpose(1, 2).clone())));
}

TEST(Attention, RejectsWhatDoesNotFit) {
  const auto message = [](const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {}) {
    try {
      attention(q, k, v, options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const Tensor q = Tensor::zeros({2, 4, 5, 8}), k = Tensor::zeros({2, 2, 7, 8}), v = Tensor::zeros({2, 2, 6, 8});
  EXPECT_EQ(
      message(q, k, v),
      "attention: k and v must have the same number of keys S; q is (B 2, H 4, T 5, D 8), k is (B 2, G 2, S 7, D "
      "8), v is (B 2, G 2, S 6, E 8)");
  EXPECT_EQ(message(q, k, k, {.mask = padding({3})}), "padding: 1 lengths for B 2");
  EXPECT_EQ(message(q, k, k, {.mask = padding({3, 8})}), "padding: lengths must be 0 to S 7, got 8");
  EXPECT_NE(message(q, Tensor::zeros({2, 3, 7, 8}), Tensor::zeros({2, 3, 7, 8})).find("must divide H"),
            std::string::npos);
}

}  // namespace
}  // namespace qkv
