#include "qkv/attention/multi_token.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/threads.h"
#include "qkv/op/arithmetic.h"
#include "qkv/tensor/storage.h"
#include "qkv/test_support/reference_multi_token.h"

namespace qkv::multi_token_test {

using namespace test;

// The gradient of every input along a random direction, against a difference of the formula.
void expect_gradients(const ReferenceMultiToken& reference, const std::vector<Tensor>& inputs,
                      const MaskPtr& mask) {
  Variables x;
  Doubles exact;
  for (const Tensor& input : inputs) {
    x.emplace_back(input, Variable::Options{.requires_grad = true});
    exact.push_back(doubles(input));
  }
  const Variable y = reference.op(mask)(x);
  expect_close(y.value(), reference(exact), 3e-6, "out");
  const Tensor upstream = random_tensor(y.shape(), 77);
  const std::vector<double> up = doubles(upstream);
  y.backward(upstream);
  for (size_t n = 0; n < x.size(); ++n) {
    const std::vector<double> direction = doubles(random_tensor(inputs[n].shape(), 88 + n)),
                              grad = doubles(x[n].grad());
    const auto sum_at = [&](double step) {
      Doubles moved = exact;
      for (size_t i = 0; i < direction.size(); ++i) moved[n][i] += step * direction[i];
      const std::vector<double> out = reference(moved);
      double sum = 0;
      for (size_t i = 0; i < out.size(); ++i) sum += out[i] * up[i];
      return sum;
    };
    double got = 0, size = 0.1;
    for (size_t i = 0; i < grad.size(); ++i) {
      got += grad[i] * direction[i];
      size += std::abs(grad[i] * direction[i]);
    }
    EXPECT_NEAR(got, (sum_at(1e-5) - sum_at(-1e-5)) / 2e-5, 3e-6 * size) << "gradient of input " << n;
  }
}

TEST(MultiToken, EqualsTheFormulaInValueAndGradient) {
  ReferenceMultiToken reference = {.B = 2, .H = 4, .G = 2, .T = 7, .S = 9, .D = 3, .E = 5};
  reference.pre_queries = 3, reference.pre_keys = 5, reference.post_queries = 2, reference.post_keys = 3;
  reference.pre_mix = true, reference.post_head = 2;
  reference.sees = [](int64_t, int64_t i, int64_t j) { return j <= i + 2; };
  check_op("causal", reference.inputs(1), reference.op(causal()), [&](const Doubles& x) { return reference(x); },
           {.value = 3e-6, .gradient = 2e-5, .strided = false});
  reference.post_head = 0, reference.post_mix = true, reference.pre_keys = 4, reference.pad_key = PadKey::left,
  reference.sees = {};
  check_op("everything", reference.inputs(20), reference.op({}), [&](const Doubles& x) { return reference(x); },
           {.value = 3e-6, .gradient = 2e-5, .strided = false});
}

TEST(MultiToken, EqualsTheFormulaOverManyBlocks) {
  ReferenceMultiToken reference = {.B = 2, .H = 2, .G = 1, .T = 140, .S = 150, .D = 5, .E = 3};
  reference.pre_queries = 6, reference.pre_keys = 11, reference.post_queries = 4, reference.post_keys = 5;
  reference.pre_mix = true, reference.post_mix = true;
  reference.sees = [](int64_t, int64_t i, int64_t j) { return j <= i + 10; };
  expect_gradients(reference, reference.inputs(1), causal());

  reference.pad_key = PadKey::right, reference.pre_keys = 2, reference.post_mix = false;
  reference.sees = [](int64_t, int64_t i, int64_t j) { return j <= i + 10 && j >= i + 10 - 40; };
  expect_gradients(reference, reference.inputs(20), window(40, 0));

  reference.pre_queries = 0, reference.pre_mix = false, reference.post_queries = 12,
  reference.post_keys = 40;  // several passes
  reference.sees = [](int64_t b, int64_t, int64_t j) { return j < (b == 0 ? 33 : 150); };
  expect_gradients(reference, reference.inputs(40), padding({33, 150}));

  reference.post_queries = 0, reference.pre_mix = true;  // heads only
  expect_gradients(reference, reference.inputs(60), padding({33, 150}));
}

TEST(MultiToken, WithoutParametersEqualsAttention) {
  ReferenceMultiToken reference = {.B = 1, .H = 2, .G = 2, .T = 70, .S = 70, .D = 8, .E = 8};
  reference.sees = [](int64_t, int64_t i, int64_t j) { return j <= i; };
  expect_gradients(reference, reference.inputs(1), causal());
}

// The factors of weight_dropout(): attention with equal scores has weights 1 / S times these.
std::vector<double> dropout_factors(const ReferenceMultiToken& n) {
  const Tensor q = Tensor::zeros({n.B, n.H, n.T, 4}), k = Tensor::zeros({n.B, n.G, n.S, 4});
  std::vector<double> factors =
      doubles(attention_with_weights(q, k, k, {.reweigh = {weight_dropout(n.dropout)}}).weights);
  for (double& f : factors) f *= static_cast<double>(n.S);
  return factors;
}

TEST(MultiToken, DropsTheWeightsThatMultiplyTheValues) {
  ReferenceMultiToken reference = {.B = 2, .H = 4, .G = 2, .T = 7, .S = 9, .D = 3, .E = 5};
  reference.pre_queries = 3, reference.pre_keys = 5, reference.post_queries = 2, reference.post_keys = 3;
  reference.pre_mix = true, reference.post_head = 2;
  reference.sees = [](int64_t, int64_t i, int64_t j) { return j <= i + 2; };
  reference.dropout = {.rate = 0.3, .seed = 5, .stream = 2};
  reference.factors = dropout_factors(reference);
  EXPECT_GT(std::count(reference.factors.begin(), reference.factors.end(), 0.0), 50);
  check_op("every step", reference.inputs(1), reference.op(causal()),
           [&](const Doubles& x) { return reference(x); }, {.value = 3e-6, .gradient = 2e-5, .strided = false});
  const std::vector<Tensor> x = reference.inputs(5);
  Doubles exact;
  for (const Tensor& input : x) exact.push_back(doubles(input));
  std::vector<double> weights;
  reference(exact, &weights);
  expect_close(multi_token_attention_with_weights(x[0], x[1], x[2], reference.options(x, causal())).weights,
               weights, 3e-6, "weights");

  reference = {.B = 2, .H = 2, .G = 1, .T = 140, .S = 150, .D = 5, .E = 3};
  reference.dropout = {.rate = 0.5, .seed = 6, .stream = 1};
  reference.factors = dropout_factors(reference);
  reference.pre_queries = 6, reference.pre_keys = 11;
  expect_gradients(reference, reference.inputs(1), {});
  reference.post_mix = true, reference.post_queries = 4, reference.post_keys = 5;
  expect_gradients(reference, reference.inputs(20), {});
}

TEST(MultiToken, ReturnsTheWeightsThatMultiplyTheValues) {
  ReferenceMultiToken reference = {.B = 2, .H = 4, .G = 4, .T = 90, .S = 80, .D = 4, .E = 4};
  reference.pre_queries = 2, reference.pre_keys = 3, reference.post_queries = 3, reference.post_keys = 3,
  reference.post_head = 2;
  const std::vector<Tensor> x = reference.inputs(5);
  Doubles exact;
  for (const Tensor& input : x) exact.push_back(doubles(input));
  std::vector<double> weights;
  reference(exact, &weights);
  expect_close(multi_token_attention_with_weights(x[0], x[1], x[2], reference.options(x, {})).weights, weights,
               2e-6, "weights");
}

// The output and all gradients of a call.
std::vector<Tensor> results(const ReferenceMultiToken& reference, const std::vector<Tensor>& inputs,
                            const MaskPtr& mask, const Tensor& upstream) {
  Variables x;
  for (const Tensor& input : inputs) x.emplace_back(input, Variable::Options{.requires_grad = true});
  const Variable y = reference.op(mask)(x);
  y.backward(upstream);
  std::vector<Tensor> all = {y.value()};
  for (const Variable& v : x) all.push_back(v.grad());
  return all;
}

ReferenceMultiToken full_call(int64_t B, int64_t T) {
  ReferenceMultiToken reference = {.B = B, .H = 4, .G = 2, .T = T, .S = T, .D = 9, .E = 7};
  reference.pre_queries = 6, reference.pre_keys = 11, reference.post_queries = 3, reference.post_keys = 5;
  reference.pre_mix = true, reference.post_head = 2;
  return reference;
}

TEST(MultiToken, GivesTheSameBitsForAnyNumberOfThreads) {
  ReferenceMultiToken reference = full_call(2, 150);
  reference.dropout = {.rate = 0.1, .seed = 7, .stream = 3};
  const int before = threads();
  std::vector<Tensor> first;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    const std::vector<Tensor> now =
        results(reference, reference.inputs(1), causal(), random_tensor({2, 4, 150, 7}, 9));
    if (first.empty()) first = now;
    for (size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(same_bits(first[i], now[i])) << count << " threads, " << i;
  }
  set_threads(before);
}

TEST(MultiToken, GivesASequenceTheSameBitsWithAnyNeighbours) {
  const ReferenceMultiToken alone = full_call(1, 70), together = full_call(9, 70);
  const std::vector<Tensor> one = alone.inputs(1);
  std::vector<Tensor> many = together.inputs(30);
  for (size_t n = 0; n < many.size(); ++n)
    n < 3 ? many[n].slice(0, 5, 6).copy_from(one[n]) : many[n].copy_from(one[n]);
  const Tensor upstream = random_tensor({9, 4, 70, 7}, 9);
  const std::vector<Tensor> a = results(alone, one, causal(), upstream.slice(0, 5, 6)),
                            b = results(together, many, causal(), upstream);
  for (size_t n = 0; n < 4; ++n) EXPECT_TRUE(same_bits(a[n], b[n].slice(0, 5, 6))) << n;
}

TEST(MultiToken, PaddingChangesNoBit) {
  const ReferenceMultiToken reference = full_call(1, 60), padded = full_call(1, 200);
  const std::vector<Tensor> x = reference.inputs(1);
  std::vector<Tensor> longer = padded.inputs(30);
  for (size_t n = 0; n < x.size(); ++n) (n < 3 ? longer[n].slice(2, 0, 60) : longer[n]).copy_from(x[n]);
  const Tensor upstream = random_tensor({1, 4, 60, 7}, 9);
  Tensor longer_upstream = Tensor::zeros({1, 4, 200, 7});
  longer_upstream.slice(2, 0, 60).copy_from(upstream);
  const std::vector<Tensor> a = results(reference, x, causal(), upstream),
                            b = results(padded, longer, causal(), longer_upstream);
  for (size_t n = 0; n < 4; ++n) EXPECT_TRUE(same_bits(a[n], b[n].slice(2, 0, 60))) << n;
  for (size_t n = 4; n < a.size(); ++n) EXPECT_TRUE(same_bits(a[n], b[n])) << n;
}

TEST(MultiToken, ReadsStridedInputsAndKeepsTheirMemoryOrder) {
  const ReferenceMultiToken reference = full_call(2, 70);
  std::vector<Tensor> x = reference.inputs(1);
  const Tensor upstream = random_tensor({2, 4, 70, 7}, 9);
  const std::vector<Tensor> wanted = results(reference, x, causal(), upstream);
  for (size_t n = 0; n < 3; ++n) x[n] = x[n].transpose(1, 2).clone().transpose(1, 2);  // (B,T,H,D) memory
  const std::vector<Tensor> got = results(reference, x, causal(), upstream.transpose(1, 2).clone().transpose(1, 2));
  EXPECT_TRUE(got[0].transpose(1, 2).contiguous());
  for (size_t n = 0; n < got.size(); ++n) EXPECT_TRUE(same_bits(got[n], wanted[n])) << n;
}

TEST(MultiToken, AQueryThatSeesNoKeyHasZeroOutputAndZeroGradients) {
  ReferenceMultiToken reference = full_call(1, 20);
  reference.S = 6;  // causal: the first 14 queries see no key
  const std::vector<Tensor> g = results(reference, reference.inputs(1), causal(), random_tensor({1, 4, 20, 7}, 9));
  for (const Tensor& x : {g[0].slice(2, 0, 14), g[1].slice(2, 0, 14)})
    for (const double v : doubles(x)) EXPECT_EQ(v, 0.0);
  for (const Tensor& x : g)
    for (const double v : doubles(x)) EXPECT_FALSE(std::isnan(v));
  for (const Tensor& x : results(reference, reference.inputs(1), padding({0}), random_tensor({1, 4, 20, 7}, 9)))
    for (const double v : doubles(x)) EXPECT_EQ(v, 0.0);
}

TEST(MultiToken, HistoryIsReadByTheConvolutionsOnly) {
  const ReferenceMultiToken reference = full_call(1, 100);
  const std::vector<Tensor> x = reference.inputs(1);
  MultiTokenOptions options = reference.options(x, causal());
  const Tensor all = multi_token_attention(x[0], x[1], x[2], options).value();
  options.history = history_of(options);
  ASSERT_EQ(options.history, 7);
  const Tensor last = x[0].slice(2, 83 - 7, 100);
  const auto [out, weights] = multi_token_attention_with_weights(last, x[1], x[2], options);
  EXPECT_TRUE(same_bits(out.value(), all.slice(2, 83, 100)));
  EXPECT_EQ(weights.shape(), (Shape{1, 4, 17, 100}));

  // The gradient of the last rows alone.
  Tensor upstream = Tensor::zeros(all.shape());
  upstream.slice(2, 83, 100).copy_from(random_tensor({1, 4, 17, 7}, 9));
  const Variable q(x[0], {.requires_grad = true}), end(last, {.requires_grad = true});
  options.history = 0;
  multi_token_attention(q, x[1], x[2], options).backward(upstream);
  options.history = 7;
  multi_token_attention(end, x[1], x[2], options).backward(upstream.slice(2, 83, 100));
  expect_close(end.grad(), doubles(q.grad().slice(2, 76, 100)), 1e-6, "dq");
}

TEST(MultiToken, LongSequencesTakeBoundedMemory) {
  const ReferenceMultiToken reference = full_call(1, 2048);
  const std::vector<Tensor> x = reference.inputs(1);
  const Tensor upstream = random_tensor({1, 4, 2048, 7}, 9);
  const int64_t before = storage_statistics().peak_bytes;
  results(reference, x, causal(), upstream);
  const int64_t matrix = int64_t{4} * 4 * 2048 * 2048;  // bytes of a whole matrix of scores
  EXPECT_LT(storage_statistics().peak_bytes - before, matrix / 4);
}

TEST(MultiToken, TakesBf16) {
  const ReferenceMultiToken reference = full_call(1, 20);
  std::vector<Tensor> x = reference.inputs(1), rounded;
  for (size_t n = 0; n < 3; ++n) {
    rounded.push_back(x[n].to(DType::bf16));
    x[n] = rounded[n].to(DType::f32);
  }
  const MultiTokenOptions options = reference.options(x, causal());
  const Variable y = multi_token_attention(rounded[0], rounded[1], rounded[2], options);
  ASSERT_EQ(y.value().dtype(), DType::bf16);
  expect_close(y.value().to(DType::f32), doubles(multi_token_attention(x[0], x[1], x[2], options).value()), 0x1p-8,
               "out");
}

TEST(MultiToken, GatesEachNumberOrWholeHeads) {
  const Tensor out = random_tensor({2, 3, 4, 5}, 1), bias = random_tensor({1}, 2);
  const auto gated = [](const Doubles& x, bool each_number) {
    return each(x[0], [&](size_t i) {
      const size_t row = i / 5 * 5, unit = each_number ? i % 5 : 0;
      double sum = x[2][unit];
      for (size_t e = 0; e < 5; ++e) sum += x[1][unit * 5 + e] * x[0][row + e];
      return x[0][i] / (1 + std::exp(-sum));
    });
  };
  const Op op = [](const Variables& x) { return gate_heads(x[0], x[1], x[2]); };
  check_op("a head", {out, random_tensor({1, 5}, 3), bias}, op, [&](const Doubles& x) { return gated(x, false); });
  check_op("each number", {out, random_tensor({5, 5}, 4), random_tensor({5}, 5)}, op,
           [&](const Doubles& x) { return gated(x, true); });
  check_op(
      "norm", {out, random_tensor({5}, 6)},
      [](const Variables& x) { return normalize_heads(x[0], x[1], 1e-5f, 0.25f); },
      [](const Doubles& x) {
        return each(x[0], [&](size_t i) {
          double squares = 0;
          for (size_t e = 0; e < 5; ++e) squares += x[0][i / 5 * 5 + e] * x[0][i / 5 * 5 + e];
          return 0.75 * x[0][i] / std::sqrt(squares / 5 + 1e-5) * x[1][i % 5];
        });
      });
}

// bf16 in, f32 arithmetic, one rounding at the end of each function; gradients are bf16 too.
TEST(MultiToken, GatesAndNormalizesBf16) {
  const Tensor out = random_tensor({2, 3, 4, 6}, 1).to(DType::bf16),
               upstream = random_tensor({2, 3, 4, 6}, 2).to(DType::bf16);
  const Tensor weight = random_tensor({6}, 3), bias = random_tensor({6}, 5), one_bias = random_tensor({1}, 6);
  const auto expect_rounded = [&](const std::string& what, const Op& op) {
    const Variable x(out, {.requires_grad = true}), exact(out.to(DType::f32), {.requires_grad = true});
    const Variable y = op({x}), wanted = op({exact});
    EXPECT_EQ(y.value().dtype(), DType::bf16) << what;
    EXPECT_TRUE(same_bits(y.value().to(DType::f32), wanted.value().to(DType::bf16).to(DType::f32))) << what;
    y.backward(upstream);
    wanted.backward(upstream.to(DType::f32));
    EXPECT_EQ(x.grad().dtype(), DType::bf16) << what;
    expect_close(x.grad().to(DType::f32), doubles(exact.grad()), 0x1p-8, what);
  };
  expect_rounded("norm", [&](const Variables& x) { return normalize_heads(x[0], weight, 1e-5f, 0.25f); });
  expect_rounded("gate per head", [&](const Variables& x) {
    return gate_heads(x[0], random_tensor({1, 6}, 4), one_bias);
  });
  expect_rounded("gate per element", [&](const Variables& x) {
    return gate_heads(x[0], random_tensor({6, 6}, 4), bias);
  });
  EXPECT_EQ(gate_heads(normalize_heads(out, weight), random_tensor({1, 6}, 4), one_bias).value().dtype(),
            DType::bf16);
}

TEST(MultiToken, ErrorsNameTheGateOrNorm) {
  const Tensor out = Tensor::zeros({2, 3, 4, 6}), weight = Tensor::zeros({6}), bf16 = weight.to(DType::bf16);
  EXPECT_EQ(error_of([&] { normalize_heads(out, bf16); }),
            "normalize_heads: weight must be f32 (E) with E 6, it is bf16 (6)");
  EXPECT_EQ(error_of([&] {
              normalize_heads(Tensor::zeros({2, 6}), weight);
            }),
            "normalize_heads: out must be (B,H,T,E), f32 or bf16; it is f32 (2, 6)");
  EXPECT_EQ(error_of([&] {
              gate_heads(out, Tensor::zeros({2, 6}), {});
            }),
            "gate_heads: weight must be f32 (1,E) or (E,E) with E 6, it is f32 (2, 6)");
  EXPECT_EQ(error_of([&] {
              gate_heads(out, Tensor::zeros({1, 6}), weight);
            }),
            "gate_heads: bias must be f32 (1), it is f32 (6)");
}

TEST(MultiToken, RejectsInvalidOptions) {
  const Tensor x = Tensor::zeros({1, 4, 5, 8});
  const auto message = [&](const MultiTokenOptions& options) {
    return error_of([&] { multi_token_attention(x, x, x, options); });
  };
  EXPECT_EQ(message({.pre_conv = Tensor::zeros({3, 1, 2, 3})}),
            "multi_token_attention: pre_conv must be f32 (H,1,c_q,c_k) with H 4, it is f32 (3, 1, 2, 3)");
  EXPECT_EQ(message({.post_conv = Tensor::zeros({4, 1, 2, 4})}),
            "multi_token_attention: post_conv (4, 1, 2, 4): c_k must be odd with PadKey::both, which centers "
            "the keys");
  EXPECT_EQ(message({.post_head = Tensor::zeros({2, 2, 2}), .post_mix = Tensor::zeros({4, 4})}),
            "multi_token_attention: post_head and post_mix exclude each other: give one of them");
  EXPECT_EQ(message({.post_head = Tensor::zeros({2, 3, 3})}),
            "multi_token_attention: post_head must be f32 (H/c,c,c) with H 4, it is f32 (2, 3, 3)");
  EXPECT_EQ(message({.pre_conv = Tensor::zeros({4, 1, 60, 1})}),
            "multi_token_attention: the convolutions may read at most 48 earlier queries together, they read 59");
  EXPECT_EQ(message({.history = 6}), "multi_token_attention: history must be 0 to T 5, it is 6");
}

}  // namespace qkv::multi_token_test
