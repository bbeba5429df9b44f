#include "qkv/attention/attention.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/test_support/check_attention.h"

namespace qkv {

#ifdef QKV_TEST_AMX
namespace kernel::amx_in_software {
const Bf16Kernels& bf16_kernels();
}
#endif

namespace {

using namespace test;

void check(const AttentionShape& n, const MaskPtr& mask, const VisibleRule& visible, uint64_t stream) {
  SCOPED_TRACE(
      fmt::format("B{} H{} G{} T{} S{} D{} E{} {}", n.B, n.H, n.G, n.T, n.S, n.D, n.E, mask ? mask->name() : ""));
  const AttentionInputs x = random_inputs(n, stream);
  ReferenceCall wanted = x.reference();
  wanted.visible = visible;
  expect_attention(x, {.mask = mask}, wanted, {.value = 2e-6, .gradient = 8e-6});
}

TEST(Attention, EqualsTheFormulaForAnyShape) {
  uint64_t stream = 1;
  for (const AttentionShape& n : std::vector<AttentionShape>{{1, 1, 1, 1, 1, 1, 1},
                                                             {2, 3, 1, 5, 9, 8, 3},
                                                             {1, 2, 2, 64, 128, 16, 16},
                                                             {1, 4, 2, 65, 129, 33, 40},
                                                             {2, 2, 1, 130, 300, 20, 70},
                                                             {1, 1, 1, 1, 500, 64, 64},
                                                             {1, 6, 3, 77, 3, 7, 130}})
    check(n, {}, {}, stream += 10);
}

TEST(Attention, EqualsTheFormulaUnderEveryMask) {
  const AttentionShape n{2, 4, 2, 150, 200, 24, 17};
  const auto position = [&](int64_t i) { return i + n.S - n.T; };
  const VisibleRule is_causal = [&](int64_t, int64_t, int64_t i, int64_t j) { return j <= position(i); };
  const VisibleRule in_window = [&](int64_t, int64_t, int64_t i, int64_t j) {
    return j >= position(i) - 20 && j <= position(i) + 3;
  };
  const std::vector<int32_t> lengths = {0, 133};
  const VisibleRule is_real = [&](int64_t b, int64_t, int64_t, int64_t j) {
    return j < lengths[static_cast<size_t>(b)];
  };
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
void check_bf16(const AttentionShape& n, const MaskPtr& mask, const VisibleRule& visible, uint64_t stream) {
  SCOPED_TRACE(fmt::format("B{} H{} G{} T{} S{} D{} E{}", n.B, n.H, n.G, n.T, n.S, n.D, n.E));
  const AttentionInputs x = random_inputs(n, stream, DType::bf16);
  const Variable out = attention(x.q, x.k, x.v, {.mask = mask});
  out.backward(x.dout);
  ReferenceCall call = x.reference();
  call.visible = visible;
  const ReferenceResult wanted = reference_attention(call);
  constexpr double half_unit = 0x1p-8;  // of a number just above a power of two
  expect_reference(out.value(), wanted.out, half_unit, "out");
  expect_reference(x.q.grad(), wanted.dq, 2 * half_unit, "dq");
  expect_reference(x.k.grad(), wanted.dk, 2 * half_unit, "dk");
  expect_reference(x.v.grad(), wanted.dv, 2 * half_unit, "dv");
  const Tensor inference = attention(x.q.value(), x.k.value(), x.v.value(), {.mask = mask});
  expect_reference(inference, wanted.out, half_unit, "inference");
}

TEST(Attention, TakesBf16OfAnyShape) {
  uint64_t stream = 5000;
  for (const AttentionShape& n : std::vector<AttentionShape>{{1, 1, 1, 1, 1, 1, 1},
                                                             {2, 3, 1, 5, 9, 8, 4},
                                                             {1, 2, 2, 64, 128, 16, 16},
                                                             {1, 4, 2, 65, 129, 34, 40},
                                                             {2, 2, 1, 130, 301, 20, 70},
                                                             {1, 2, 1, 70, 99, 33, 7},
                                                             {1, 4, 2, 1, 1100, 64, 64},
                                                             {1, 6, 3, 77, 3, 6, 130},
                                                             {1, 1, 1, 40, 1301, 8, 8}})
    check_bf16(n, {}, {}, stream += 10);
  check_bf16(
      {2, 4, 2, 150, 200, 24, 18}, causal() & window(33, 5),
      [](auto, auto, int64_t i, int64_t j) { return j <= i + 50 && j >= i + 50 - 33; }, stream);
}

// A gradient that only a weight of the score records excludes the single-query algorithm, for bf16 too.
TEST(Attention, RecordsTheWeightsOfAScoreForASingleBf16Query) {
  const auto gradient = [](DType dtype) {
    const auto draw = [&](const Shape& shape, uint64_t stream) {
      return random_tensor(shape, stream).to(DType::bf16).to(dtype);
    };
    const Variable m(random_tensor({6, 6}, 4, 0.3), {.requires_grad = true});
    attention(Variable(draw({2, 2, 1, 6}, 1)), Variable(draw({2, 1, 9, 6}, 2)), Variable(draw({2, 1, 9, 4}, 3)),
              {.score = bilinear(m)})
        .backward(draw({2, 2, 1, 4}, 5));
    return m.grad();
  };
  expect_close(gradient(DType::bf16), doubles(gradient(DType::f32)), 0x1p-6, "m");
}

#ifdef QKV_TEST_AMX
TEST(Attention, TakesBf16ThroughTileRegisters) {
  if (!kernel::cpu_has("avx512_bf16") || kernel::kernels().lanes != 16)
    GTEST_SKIP() << "this CPU has no bf16 products";
  kernel::Kernels tiled = kernel::kernels();
  tiled.attention.bf16 = &kernel::amx_in_software::bf16_kernels();
  const kernel::UseKernels guard(tiled);
  uint64_t stream = 6000;
  for (const AttentionShape& n : std::vector<AttentionShape>{{2, 3, 1, 5, 9, 8, 4},
                                                             {1, 2, 2, 64, 128, 64, 64},
                                                             {1, 4, 2, 65, 129, 34, 40},
                                                             {2, 2, 1, 130, 301, 20, 70},
                                                             {1, 1, 1, 40, 1301, 8, 8}})
    check_bf16(n, {}, {}, stream += 10);
  check_bf16(
      {2, 4, 2, 150, 200, 24, 18}, causal() & window(33, 5),
      [](auto, auto, int64_t i, int64_t j) { return j <= i + 50 && j >= i + 50 - 33; }, stream);
}
#endif

TEST(Attention, AQueryThatSeesNoKeyHasZeroOutputAndZeroGradients) {
  const AttentionShape n{1, 2, 2, 9, 4, 8, 8};  // causal with T > S: the first five queries see no key
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

TEST(Attention, NaNInAKeyIsInTheRowsThatSeeItAndInNoOther) {
  constexpr int32_t S = 700, bad = 600;
  Tensor k = random_tensor({1, 1, S, 8}, 2);
  const Tensor v = random_tensor({1, 1, S, 4}, 3);
  k.data<float>()[bad * 8 + 5] = NAN;
  for (const int64_t T : {1, 3, 40}) {  // a single query, few of them, tiles of many
    const Tensor q = random_tensor({1, 1, T, 8}, 1), seen = attention(q, k, v),
                 hidden = attention(q, k, v, {.mask = padding({bad})});
    for (const float x : seen.span<float>()) EXPECT_TRUE(std::isnan(x)) << T << " queries";
    for (const float x : hidden.span<float>()) EXPECT_FALSE(std::isnan(x)) << T << " queries";
  }
}

TEST(Attention, AKeyWidthOfZeroGivesAllKeysEqualWeights) {
  const Tensor nothing = Tensor::zeros({1, 1, 3, 0}), v = random_tensor({1, 1, 3, 2}, 1);
  const Tensor out = attention(nothing, nothing, v, {.mask = causal()});
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t e = 0; e < 2; ++e) {
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) sum += v.at<float>({0, 0, j, e});
      EXPECT_NEAR(out.at<float>({0, 0, i, e}), sum / static_cast<double>(i + 1), 1e-6);
    }
}

TEST(Attention, ColumnsOfValuesDoNotDependOnEachOther) {
  const Tensor q = random_tensor({2, 2, 70, 16}, 1), k = random_tensor({2, 2, 100, 16}, 2);
  const Tensor v = random_tensor({2, 2, 100, 67}, 3), first = v.slice(3, 0, 64);  // 67: a partial vector
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

TEST(Attention, RejectsInvalidArguments) {
  const auto message = [](const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {}) {
    return error_of([&] { attention(q, k, v, options); });
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
