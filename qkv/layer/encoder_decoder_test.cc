// Encoder and decoder layers against their formulas, composed of their own parts by hand.
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/layer/decoder_layer.h"
#include "qkv/layer/layer_test.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"

namespace qkv {
namespace {

using namespace test;

class LayersOf : public testing::TestWithParam<NormOrder> {
 protected:
  LayerOptions options() const {
    return {.d_model = 12, .heads = 3, .ffn = 20, .norm_order = GetParam(), .index = 7};
  }
  // post: norm(x + f(x)); pre: x + f(norm(x)).
  template <class F>
  Variable residual(const Variable& x, const LayerNorm& norm, F f) const {
    return GetParam() == NormOrder::post ? norm.forward(add(x, f(x))) : add(x, f(norm.forward(x)));
  }
};

TEST_P(LayersOf, AnEncoderLayerIsItsFormula) {
  EncoderLayer layer(options());
  randomise(layer, 1);
  const Tensor x = random_tensor({2, 5, 12}, 1);
  const MaskPtr mask = padding({5, 3});
  Pass pass;
  const Variable y = residual(x, layer.norm1,
                              [&](const Variable& z) { return layer.self_attention.forward(z, z, z, mask, pass); });
  const Variable expected = residual(y, layer.norm2, [&](const Variable& z) {
    return layer.feed_forward.down.forward(relu(layer.feed_forward.up.forward(z)));
  });
  EXPECT_LT(largest_difference(layer.forward(x, mask, pass).value(), expected.value()), 1e-6);
}

TEST_P(LayersOf, ADecoderLayerIsItsFormula) {
  DecoderLayer layer(options());
  randomise(layer, 2);
  const Tensor x = random_tensor({2, 5, 12}, 3), memory = random_tensor({2, 7, 12}, 4);
  const MaskPtr mask = padding({4, 7});
  Pass pass;
  const Variable y = residual(
      x, layer.norm1, [&](const Variable& z) { return layer.self_attention.forward(z, z, z, causal(), pass); });
  const Variable w = residual(y, layer.norm2, [&](const Variable& z) {
    return layer.cross_attention.forward(z, memory, memory, mask, pass);
  });
  const Variable expected = residual(w, layer.norm3, [&](const Variable& z) {
    return layer.feed_forward.down.forward(relu(layer.feed_forward.up.forward(z)));
  });
  const DecoderLayer::KeyValues projected = layer.cross_attention.project(memory, memory);
  EXPECT_LT(largest_difference(layer.forward(x, causal(), projected, mask, pass).value(), expected.value()), 1e-6);
}

TEST_P(LayersOf, StepsOfADecoderLayerEqualTheWhole) {
  DecoderLayer layer(options());
  randomise(layer, 3);
  // Two sentences of three hypotheses: six rows of targets against two of memory.
  const Tensor x = random_tensor({6, 9, 12}, 5), memory = random_tensor({2, 7, 12}, 6);
  const MaskPtr mask = padding({4, 7});
  Pass pass;
  const DecoderLayer::KeyValues projected = layer.cross_attention.project(memory, memory);
  AttentionCache cache;
  Tensor steps = Tensor::empty({6, 9, 12});
  for (int64_t t = 0; t < 9; ++t)
    steps.slice(1, t, t + 1)
        .copy_from(layer.step(x.slice(1, t, t + 1).contiguous_copy(), cache, projected, mask, pass).value());
  for (int64_t row = 0; row < 6; ++row) {
    const int64_t sentence = row / 3;
    const Tensor own = memory.slice(0, sentence, sentence + 1);
    const Tensor whole = layer
                             .forward(x.slice(0, row, row + 1).contiguous_copy(), causal(),
                                      layer.cross_attention.project(own.contiguous_copy(), own.contiguous_copy()),
                                      padding({sentence == 0 ? 4 : 7}), pass)
                             .value();
    EXPECT_LT(largest_difference(steps.slice(0, row, row + 1), whole), 2e-6);
  }
}

TEST_P(LayersOf, LogNamesEveryAttention) {
  EncoderLayer encoder(options());
  DecoderLayer decoder(options());
  AttentionLog log;
  Pass pass{.log = &log};
  const Tensor x = random_tensor({2, 5, 12}, 7);
  const Variable memory = encoder.forward(x, padding({5, 4}), pass);
  decoder.forward(random_tensor({2, 3, 12}, 8), causal(), decoder.cross_attention.project(memory, memory),
                  padding({5, 4}), pass);
  ASSERT_EQ(log.entries.size(), 3u);
  EXPECT_TRUE(log.entries[0].source == (AttentionLog::Source{AttentionUse::encoder, 7}));
  EXPECT_EQ(log.entries[0].weights.shape(), (Shape{2, 3, 5, 5}));
  EXPECT_TRUE(log.entries[1].source == (AttentionLog::Source{AttentionUse::decoder, 7}));
  EXPECT_EQ(log.entries[1].weights.shape(), (Shape{2, 3, 3, 3}));
  EXPECT_TRUE(log.entries[2].source == (AttentionLog::Source{AttentionUse::cross, 7}));
  EXPECT_EQ(log.entries[2].weights.shape(), (Shape{2, 3, 3, 5}));
}

TEST_P(LayersOf, DropoutIsForTrainingOnlyAndDiffersBetweenSublayers) {
  LayerOptions o = options();
  o.dropout = o.attention_dropout = o.ffn_dropout = 0.3f;
  DecoderLayer layer(o), plain(options());
  randomise(layer, 4);
  randomise(plain, 4);
  const Tensor x = random_tensor({2, 5, 12}, 9), memory = random_tensor({2, 6, 12}, 10);
  const auto run = [&](const DecoderLayer& of, Pass& pass) {
    return of.forward(x, causal(), of.cross_attention.project(memory, memory), {}, pass).value();
  };
  Pass testing, training{.training = true, .seed = 1}, again{.training = true, .seed = 1};
  EXPECT_TRUE(same_bits(run(layer, testing), run(plain, testing)));
  const Tensor y = run(layer, training);
  EXPECT_GT(largest_difference(y, run(plain, testing)), 1e-2);
  EXPECT_EQ(training.dropouts, 6u) << "two of attention weights, one of the hidden layer, three of sublayers";
  EXPECT_TRUE(same_bits(run(layer, again), y));
  EXPECT_FALSE(same_bits(run(layer, again), y)) << "further on in the same pass";
}

TEST_P(LayersOf, TheSameBitsOnAnyNumberOfThreads) {
  const int before = threads();
  LayerOptions o = options();
  o.dropout = 0.1f;
  DecoderLayer layer(o);
  randomise(layer, 5);
  const Tensor x = random_tensor({5, 33, 12}, 11), memory = random_tensor({5, 21, 12}, 12);
  const auto run = [&](int count) {
    set_threads(count);
    Pass pass{.training = true, .seed = 3};
    return layer
        .forward(x, causal(), layer.cross_attention.project(memory, memory), padding({1, 21, 5, 9, 20}), pass)
        .value();
  };
  EXPECT_TRUE(same_bits(run(1), run(2)));
  set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Orders, LayersOf, testing::Values(NormOrder::post, NormOrder::pre),
                         [](const testing::TestParamInfo<NormOrder>& order) {
                           return std::string(order.param == NormOrder::post ? "PostNorm" : "PreNorm");
                         });

TEST(Layers, NameTheirParametersInAFixedOrder) {
  const LayerOptions o = {.d_model = 4, .heads = 2, .ffn = 6};
  EncoderLayer encoder(o);
  DecoderLayer decoder(o);
  const std::vector<std::string> e = names_of(encoder, "e"), d = names_of(decoder, "");
  EXPECT_EQ(std::vector<std::string>(e.begin() + 8, e.end()),
            (std::vector<std::string>{"e.norm1.weight", "e.norm1.bias", "e.feed_forward.up.weight",
                                      "e.feed_forward.up.bias", "e.feed_forward.down.weight",
                                      "e.feed_forward.down.bias", "e.norm2.weight", "e.norm2.bias"}));
  ASSERT_EQ(d.size(), 8u + 2 + 8 + 2 + 4 + 2);
  EXPECT_EQ(d[10], "cross_attention.query.weight");
  EXPECT_EQ(d.back(), "norm3.bias");
}

TEST(Layers, GradientsReachEveryParameter) {
  DecoderLayer layer({.d_model = 12, .heads = 3, .ffn = 20});
  randomise(layer, 6);
  const Variable memory(random_tensor({2, 4, 12}, 13), {.requires_grad = true});
  Pass pass;
  const Variable y = layer.forward(random_tensor({2, 5, 12}, 14), causal(),
                                   layer.cross_attention.project(memory, memory), {}, pass);
  sum(multiply(y, y)).backward();
  EXPECT_TRUE(memory.grad().defined());
  layer.visit("", [](const std::string& name, Variable& p) {
    ASSERT_TRUE(p.grad().defined()) << name;
    double largest = 0;
    for (const float g : p.grad().span<float>()) largest = std::max(largest, std::abs(static_cast<double>(g)));
    // A bias of the keys moves all scores of a query alike: softmax does not see it.
    EXPECT_TRUE(largest > 1e-4 || name.ends_with("key.bias")) << name;
  });
}

TEST(Layers, ErrorsSayWhatIsWrong) {
  EXPECT_THROW(EncoderLayer({.d_model = 10, .heads = 3, .ffn = 4}), Error);
  DecoderLayer layer({.d_model = 4, .heads = 2, .ffn = 6});
  Pass pass;
  AttentionCache cache;
  const Tensor memory = random_tensor({2, 3, 4}, 15);
  const auto projected = layer.cross_attention.project(memory, memory);
  EXPECT_THROW(layer.step(random_tensor({4, 2, 4}, 1), cache, projected, {}, pass), Error) << "two positions";
  EXPECT_THROW(layer.step(random_tensor({3, 1, 4}, 1), cache, projected, {}, pass), Error)
      << "3 rows of 2 sentences";
}

}  // namespace
}  // namespace qkv
