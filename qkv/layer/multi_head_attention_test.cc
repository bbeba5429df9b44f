#include "qkv/layer/multi_head_attention.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/layer/layer_test.h"
#include "qkv/tensor/storage.h"
#include "qkv/test_support/reference_attention.h"

namespace qkv::multi_head_attention_test {

using namespace test;

// x W^T + b, rows of numbers.
std::vector<double> project(const Linear& linear, const std::vector<double>& x) {
  const int64_t outputs = linear.weight.dim(0), inputs = linear.weight.dim(1);
  const std::vector<double> weight = doubles(linear.weight.value());
  std::vector<double> y;
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(inputs))
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = linear.bias.defined() ? linear.bias.value().at<float>({o}) : 0.0;
      for (int64_t i = 0; i < inputs; ++i) sum += weight[o * inputs + i] * x[row + i];
      y.push_back(sum);
    }
  return y;
}

// (B,N,M,D) from (B,M,N,D).
std::vector<double> swapped(const std::vector<double>& x, int64_t M, int64_t N, int64_t D) {
  std::vector<double> y(x.size());
  for (int64_t at = 0; at < static_cast<int64_t>(x.size()); ++at) {
    const int64_t d = at % D, n = at / D % N, m = at / (D * N) % M, b = at / (D * N * M);
    y[((b * N + n) * M + m) * D + d] = x[at];
  }
  return y;
}

// The formula of the header: query (B,T,C), key and value (B,S,*).
std::vector<double> formula(const MultiHeadAttention& layer, const MultiHeadAttentionOptions& o,
                            const std::vector<Tensor>& x, bool is_causal) {
  const int64_t B = x[0].dim(0), T = x[0].dim(1), D = o.d_model / o.heads, G = o.kv_heads ? o.kv_heads : o.heads;
  const auto heads_of = [&](const Linear& linear, const Tensor& input, int64_t heads) -> reference::Values {
    return {{B, heads, input.dim(1), D}, swapped(project(linear, doubles(input)), input.dim(1), heads, D)};
  };
  ReferenceCall call = {.q = heads_of(layer.projection.query, x[0], o.heads),
                        .k = heads_of(layer.projection.key, x[1], G),
                        .v = heads_of(layer.projection.value, x[2], G)};
  if (is_causal) call.visible = causal_rule(call.shape());
  return project(layer.out, swapped(reference_attention(call).out.values, o.heads, T, D));
}

TEST(MultiHeadAttention, ProjectsAttendsInEveryHeadAndProjectsBack) {
  for (const MultiHeadAttentionOptions& o : {MultiHeadAttentionOptions{.d_model = 12, .heads = 3},
                                             {.d_model = 12, .heads = 6, .kv_heads = 2},
                                             {.d_model = 12, .heads = 4, .kv_heads = 1, .bias = no_projection_bias},
                                             {.d_model = 12, .heads = 2, .key_width = 7, .value_width = 5}}) {
    MultiHeadAttention layer(o);
    randomise(layer, 1);
    const Tensor query = random_tensor({2, 4, 12}, 1),
                 key = random_tensor({2, 6, o.key_width ? o.key_width : 12}, 2),
                 value = random_tensor({2, 6, o.value_width ? o.value_width : 12}, 3);
    for (const bool is_causal : {false, true}) {
      Pass pass;
      const Tensor y = layer.forward(query, key, value, is_causal ? causal() : MaskPtr(), pass).value();
      EXPECT_LT(largest_difference(doubles(y), formula(layer, o, {query, key, value}, is_causal)), 1e-5);
    }
  }
}

TEST(MultiHeadAttention, NamesItsParameters) {
  MultiHeadAttention with({.d_model = 4, .heads = 2}),
      without({.d_model = 4, .heads = 2, .bias = no_projection_bias});
  EXPECT_EQ(names_of(with, "a.b"),
            (std::vector<std::string>{"a.b.query.weight", "a.b.query.bias", "a.b.key.weight", "a.b.key.bias",
                                      "a.b.value.weight", "a.b.value.bias", "a.b.out.weight", "a.b.out.bias"}));
  EXPECT_EQ(names_of(without, ""),
            (std::vector<std::string>{"query.weight", "key.weight", "value.weight", "out.weight"}));
}

TEST(MultiHeadAttention, StepsEqualTheCausalWhole) {
  MultiHeadAttention layer({.d_model = 12, .heads = 6, .kv_heads = 2});
  randomise(layer, 2);
  const Tensor x = random_tensor({3, 40, 12}, 4);
  Pass pass;
  const Tensor whole = layer.forward(x, x, x, causal(), pass).value();
  AttentionCache cache;
  for (int64_t t = 0; t < 40; ++t) {
    const Tensor y = layer.extend(x.slice(1, t, t + 1).contiguous_copy(), cache, pass).value();
    EXPECT_LT(largest_difference(y, whole.slice(1, t, t + 1)), 2e-6) << t;
  }
  EXPECT_EQ(cache.length(), 40);
}

TEST(MultiHeadAttention, LogsItsWeightsByUseAndLayer) {
  MultiHeadAttention layer({.d_model = 8, .heads = 4, .kv_heads = 2, .use = AttentionUse::cross, .layer = 2});
  randomise(layer, 3);
  const Tensor x = random_tensor({2, 3, 8}, 5), memory = random_tensor({2, 5, 8}, 6);
  AttentionLog log;
  Pass silent, pass{.log = &log};
  const Tensor y = layer.forward(x, memory, memory, padding({5, 2}), silent).value();
  EXPECT_TRUE(same_bits(layer.forward(x, memory, memory, padding({5, 2}), pass).value(), y))
      << "recording changes nothing";
  ASSERT_EQ(log.entries.size(), 1u);
  const Tensor& weights = log.weights(AttentionUse::cross, 2);
  ASSERT_EQ(weights.shape(), (Shape{2, 4, 3, 5}));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t t = 0; t < 3; ++t) {
        double sum = 0;
        for (int64_t s = 0; s < 5; ++s) {
          sum += weights.at<float>({b, h, t, s});
          EXPECT_EQ(weights.at<float>({b, h, t, s}) == 0.0f, b == 1 && s >= 2);
        }
        EXPECT_NEAR(sum, 1.0, 1e-5);
      }
}

TEST(MultiHeadAttention, DropsWeightsInTrainingOnly) {
  MultiHeadAttention layer({.d_model = 8, .heads = 2, .dropout = 0.5f});
  randomise(layer, 4);
  const Tensor x = random_tensor({2, 6, 8}, 7);
  const auto run = [&](Pass pass) { return layer.forward(x, x, x, {}, pass).value(); };
  const Tensor plain = run({});
  EXPECT_TRUE(same_bits(run({.seed = 9, .step = 4}), plain));
  const Tensor dropped = run({.training = true, .seed = 9, .step = 4});
  EXPECT_GT(largest_difference(dropped, plain), 1e-3);
  EXPECT_TRUE(same_bits(run({.training = true, .seed = 9, .step = 4}), dropped)) << "a function of seed and step";
  EXPECT_FALSE(same_bits(run({.training = true, .seed = 9, .step = 5}), dropped));
}

TEST(MultiHeadAttention, HasTheSameBitsOnAnyNumberOfThreads) {
  const int before = threads();
  MultiHeadAttention layer({.d_model = 32, .heads = 4});
  randomise(layer, 5);
  const Tensor x = random_tensor({3, 70, 32}, 8);
  Pass pass;
  set_threads(1);
  const Tensor one = layer.forward(x, x, x, causal(), pass).value();
  set_threads(2);
  EXPECT_TRUE(same_bits(layer.forward(x, x, x, causal(), pass).value(), one));
  set_threads(before);
}

// Between the projections numbers are bf16, and in bf16 they are kept; what records no gradient stays as it is.
TEST(MultiHeadAttention, TrainedInBf16KeepsLessMemory) {
  MultiHeadAttention layer({.d_model = 128, .heads = 4});
  randomise(layer, 6);
  const Variable x(random_tensor({2, 300, 128}, 9, 0.3), {.requires_grad = true});
  const Tensor upstream = random_tensor({2, 300, 128}, 10);
  int64_t kept = 0;
  const auto gradients = [&] {
    Pass pass;
    const int64_t before = storage_statistics().used_bytes;
    Variable y = layer.forward(x, causal(), pass);
    kept = storage_statistics().used_bytes - before;
    std::vector<Tensor> results = {y.value()};
    y.backward(upstream);
    layer.visit("", [&](const std::string&, Variable& p) {
      results.push_back(p.grad());
      p.zero_grad();
    });
    return results;
  };
  const auto unrecorded = [&] {
    const NoGrad guard;
    Pass pass;
    return layer.forward(x, causal(), pass).value();
  };
  const Tensor before = unrecorded();
  const std::vector<Tensor> wanted = gradients();
  const int64_t kept_in_f32 = kept;
  layer.train_in({.precision = qkv::Precision::bf16});
  const std::vector<Tensor> got = gradients();
  EXPECT_LT(static_cast<double>(kept), 0.75 * static_cast<double>(kept_in_f32)) << "the result stays f32";
  EXPECT_TRUE(same_bits(unrecorded(), before));
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double largest = largest_difference(wanted[i], Tensor::zeros(wanted[i].shape()));
    if (largest < 1e-3) continue;  // of the bias of the keys, which changes nothing
    EXPECT_LT(largest_difference(got[i], wanted[i]), 0.02 * largest + 0.02) << i;
  }
  EXPECT_FALSE(same_bits(got[0], wanted[0]));
}

TEST(MultiHeadAttention, ErrorsSayWhatIsWrong) {
  EXPECT_THROW(MultiHeadAttention({.d_model = 10, .heads = 3}), Error);
  EXPECT_THROW(MultiHeadAttention({.d_model = 12, .heads = 6, .kv_heads = 4}), Error);
  EXPECT_THROW(MultiHeadAttention({.d_model = 0, .heads = 1}), Error);
  MultiHeadAttention layer({.d_model = 8, .heads = 2});
  Pass pass;
  const Tensor x = random_tensor({2, 3, 8}, 9);
  EXPECT_THROW(layer.forward(random_tensor({2, 3, 7}, 1), x, x, {}, pass), Error) << "width";
  EXPECT_THROW(layer.forward(x, x, random_tensor({2, 4, 8}, 1), {}, pass), Error) << "keys and values";
  EXPECT_THROW(layer.forward(x, random_tensor({3, 3, 8}, 1), random_tensor({3, 3, 8}, 1), {}, pass), Error)
      << "batch";
  EXPECT_THROW(layer.forward(random_tensor({3, 8}, 1), x, x, {}, pass), Error) << "axes";
}

}  // namespace qkv::multi_head_attention_test
