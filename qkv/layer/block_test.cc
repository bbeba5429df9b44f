// Blocks against their formulas, composed of their own parts by hand.
#include "qkv/layer/block.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/layer/layer_test.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"

namespace qkv::block_test {

using namespace test;

class BlocksOf : public testing::TestWithParam<NormOrder> {
 protected:
  BlockOptions options() const {
    return {.d_model = 12, .heads = 3, .ffn = 20, .norm_order = GetParam(), .index = 7};
  }
  BlockOptions decoder_options() const {
    BlockOptions o = options();
    o.use = AttentionUse::decoder;
    o.has_cross_attention = true;
    return o;
  }
};

using Sublayer = std::function<Variable(const Variable&)>;

// The formulas of residual.h.
Variable formula(const Block& block, NormOrder order, const Variable& x, const std::vector<Sublayer>& sublayers) {
  Variable y = x;
  for (size_t i = 0; i < sublayers.size(); ++i) {
    const Residual& r = block.residuals[i];
    const Sublayer& f = sublayers[i];
    if (order == NormOrder::post) y = r.norm.forward(add(y, f(y)));
    if (order == NormOrder::pre) y = add(y, f(r.norm.forward(y)));
    if (order == NormOrder::pre_residual) y = add(r.norm.forward(y), f(r.norm.forward(y)));
    if (order == NormOrder::sandwich) y = add(y, r.output_norm->forward(f(r.norm.forward(y))));
    if (order == NormOrder::parallel) y = add(y, f(r.norm.forward(x)));
    if (order == NormOrder::parallel_shared) y = add(y, f(block.residuals[0].norm.forward(x)));
  }
  return y;
}

TEST_P(BlocksOf, AnEncoderBlockAddsItsSublayersAndNormalisesInItsOrder) {
  Block layer(options());
  randomise(layer, 1);
  const Tensor x = random_tensor({2, 5, 12}, 1);
  const MaskPtr mask = padding({5, 3});
  Pass pass;
  const Variable expected = formula(
      layer, GetParam(), x,
      {[&](const Variable& z) { return layer.self_attention.forward(z, z, z, mask, pass); },
       [&](const Variable& z) { return layer.feed_forward.down.forward(relu(layer.feed_forward.up.forward(z))); }});
  EXPECT_LT(largest_difference(layer.forward(x, mask, pass).value(), expected.value()), 1e-6);
}

TEST_P(BlocksOf, ADecoderBlockAddsItsSublayersAndNormalisesInItsOrder) {
  Block layer(decoder_options());
  randomise(layer, 2);
  const Tensor x = random_tensor({2, 5, 12}, 3), encoded = random_tensor({2, 7, 12}, 4);
  Pass pass;
  const Variable expected = formula(
      layer, GetParam(), x,
      {[&](const Variable& z) { return layer.self_attention.forward(z, z, z, causal(), pass); },
       [&](const Variable& z) {
         return layer.cross_attention->forward(z, encoded, encoded, padding({4, 7}), pass);
       },
       [&](const Variable& z) { return layer.feed_forward.down.forward(relu(layer.feed_forward.up.forward(z))); }});
  const Variable y = layer.forward(x, causal(), layer.memory(encoded, {4, 7}), pass);
  EXPECT_LT(largest_difference(y.value(), expected.value()), 1e-6);
}

TEST_P(BlocksOf, StepsOfADecoderEqualTheWhole) {
  Block layer(decoder_options());
  randomise(layer, 3);
  // Two sentences of three hypotheses: six rows of targets against two of memory.
  const Tensor x = random_tensor({6, 9, 12}, 5), encoded = random_tensor({2, 7, 12}, 6);
  const std::vector<int32_t> lengths = {4, 7};
  Pass pass;
  const Block::Memory memory = layer.memory(encoded, lengths);
  AttentionCache cache;
  const Block::SelfSegment self = {.rows = 6, .cache = &cache};
  Tensor steps = Tensor::empty({6, 9, 12});
  for (int64_t t = 0; t < 9; ++t) {
    const Tensor one = x.slice(1, t, t + 1).contiguous_copy().reshape({6, 12});
    const Block::CrossSegment cross = {
        .rows = 6, .memory = &memory.keys_values, .mask = memory.mask, .position = t};
    const Variable y = layer.extend(one, std::span(&self, 1), std::span(&cross, 1), pass);
    steps.slice(1, t, t + 1).copy_from(y.value().reshape({6, 1, 12}));
  }
  for (int64_t row = 0; row < 6; ++row) {
    const int64_t sentence = row / 3;
    const Tensor own = encoded.slice(0, sentence, sentence + 1).contiguous_copy();
    const Tensor whole = layer
                             .forward(x.slice(0, row, row + 1).contiguous_copy(), causal(),
                                      layer.memory(own, {lengths[sentence]}), pass)
                             .value();
    EXPECT_LT(largest_difference(steps.slice(0, row, row + 1), whole), 2e-6);
  }
}

TEST_P(BlocksOf, StepsWithoutCrossAttentionEqualTheWhole) {
  BlockOptions o = options();
  o.use = AttentionUse::decoder;
  Block layer(o);
  randomise(layer, 7);
  const Tensor x = random_tensor({3, 6, 12}, 5);
  Pass pass;
  AttentionCache cache;
  Tensor steps = Tensor::empty({3, 6, 12});
  for (int64_t t = 0; t < 6; t += 2) {
    const Block::SelfSegment self = {.rows = 3, .length = 2, .cache = &cache};
    const Tensor two = x.slice(1, t, t + 2).contiguous_copy().reshape({6, 12});
    steps.slice(1, t, t + 2)
        .copy_from(layer.extend(two, std::span(&self, 1), {}, pass).value().reshape({3, 2, 12}));
  }
  EXPECT_LT(largest_difference(steps, layer.forward(x, causal(), pass).value()), 2e-6);
}

TEST_P(BlocksOf, LogNamesEveryAttention) {
  Block encoder(options()), decoder(decoder_options());
  AttentionLog log;
  Pass pass{.log = &log};
  const Tensor x = random_tensor({2, 5, 12}, 7);
  const Variable memory = encoder.forward(x, padding({5, 4}), pass);
  decoder.forward(random_tensor({2, 3, 12}, 8), causal(), decoder.memory(memory, {5, 4}), pass);
  ASSERT_EQ(log.entries.size(), 3u);
  EXPECT_TRUE(log.entries[0].source == (AttentionLog::Source{AttentionUse::encoder, 7}));
  EXPECT_EQ(log.entries[0].weights.shape(), (Shape{2, 3, 5, 5}));
  EXPECT_TRUE(log.entries[1].source == (AttentionLog::Source{AttentionUse::decoder, 7}));
  EXPECT_EQ(log.entries[1].weights.shape(), (Shape{2, 3, 3, 3}));
  EXPECT_TRUE(log.entries[2].source == (AttentionLog::Source{AttentionUse::cross, 7}));
  EXPECT_EQ(log.entries[2].weights.shape(), (Shape{2, 3, 3, 5}));
}

TEST_P(BlocksOf, DropoutIsForTrainingOnlyAndDiffersBetweenSublayers) {
  BlockOptions o = decoder_options();
  o.dropout = o.attention_dropout = o.ffn_dropout = 0.3f;
  Block layer(o), plain(decoder_options());
  randomise(layer, 4);
  randomise(plain, 4);
  const Tensor x = random_tensor({2, 5, 12}, 9), memory = random_tensor({2, 6, 12}, 10);
  const auto run = [&](const Block& of, Pass& pass) {
    return of.forward(x, causal(), of.memory(memory, {6, 6}), pass).value();
  };
  Pass testing, training{.training = true, .seed = 1}, again{.training = true, .seed = 1};
  EXPECT_TRUE(same_bits(run(layer, testing), run(plain, testing)));
  const Tensor y = run(layer, training);
  EXPECT_GT(largest_difference(y, run(plain, testing)), 1e-2);
  EXPECT_EQ(training.dropouts, 6u) << "two of attention weights, one of the hidden layer, three of sublayers";
  EXPECT_TRUE(same_bits(run(layer, again), y));
  EXPECT_FALSE(same_bits(run(layer, again), y)) << "further on in the same pass";
}

TEST_P(BlocksOf, TheSameBitsOnAnyNumberOfThreads) {
  const int before = threads();
  BlockOptions o = decoder_options();
  o.dropout = 0.1f;
  Block layer(o);
  randomise(layer, 5);
  const Tensor x = random_tensor({5, 33, 12}, 11), memory = random_tensor({5, 21, 12}, 12);
  const auto run = [&](int count) {
    set_threads(count);
    Pass pass{.training = true, .seed = 3};
    return layer.forward(x, causal(), layer.memory(memory, {1, 21, 5, 9, 20}), pass).value();
  };
  EXPECT_TRUE(same_bits(run(1), run(2)));
  set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Orders, BlocksOf,
                         testing::Values(NormOrder::post, NormOrder::pre, NormOrder::pre_residual,
                                         NormOrder::sandwich, NormOrder::parallel, NormOrder::parallel_shared),
                         [](const testing::TestParamInfo<NormOrder>& order) {
                           std::string name(name_of(order.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(Blocks, NameTheirParametersInAFixedOrder) {
  BlockOptions o = {.d_model = 4, .heads = 2, .ffn = 6};
  Block encoder(o);
  const std::vector<std::string> e = names_of(encoder, "e");
  EXPECT_EQ(std::vector<std::string>(e.begin() + 8, e.end()),
            (std::vector<std::string>{"e.norm1.weight", "e.norm1.bias", "e.feed_forward.up.weight",
                                      "e.feed_forward.up.bias", "e.feed_forward.down.weight",
                                      "e.feed_forward.down.bias", "e.norm2.weight", "e.norm2.bias"}));
  o.has_cross_attention = true;
  Block decoder(o);
  const std::vector<std::string> d = names_of(decoder, "");
  ASSERT_EQ(d.size(), 8u + 2 + 8 + 2 + 4 + 2);
  EXPECT_EQ(d[10], "cross_attention.query.weight");
  EXPECT_EQ(d.back(), "norm3.bias");
}

TEST(Blocks, HaveTheRequestedBiasesNormsAndGates) {
  Block llama({.d_model = 4,
               .heads = 2,
               .kv_heads = 1,
               .ffn = 6,
               .norm_order = NormOrder::pre,
               .norm = {.kind = NormKind::rms},
               .activation = Activation::silu,
               .gated_ffn = true,
               .attention_bias = no_projection_bias,
               .ffn_bias = false});
  EXPECT_EQ(names_of(llama, ""),
            (std::vector<std::string>{"self_attention.query.weight", "self_attention.key.weight",
                                      "self_attention.value.weight", "self_attention.out.weight", "norm1.weight",
                                      "feed_forward.gate.weight", "feed_forward.up.weight",
                                      "feed_forward.down.weight", "norm2.weight"}));
  Block sandwich({.d_model = 4, .ffn = 6, .norm_order = NormOrder::sandwich, .norm = {.bias = false}});
  const std::vector<std::string> s = names_of(sandwich, "");
  EXPECT_EQ(s[8], "norm1.weight");
  EXPECT_EQ(s[9], "output_norm1.weight");
  EXPECT_EQ(s.back(), "output_norm2.weight");
  Block shared({.d_model = 4, .ffn = 6, .norm_order = NormOrder::parallel_shared});
  EXPECT_EQ(names_of(shared, "").size(), 8u + 2 + 4);
}

TEST(Blocks, GradientsReachEveryParameter) {
  for (const auto& [order, norm] : {std::pair(NormOrder::post, NormOptions{}),
                                    {NormOrder::sandwich, {.kind = NormKind::rms, .weight_offset = 1.0f}},
                                    {NormOrder::parallel, {.bias = false}},
                                    {NormOrder::parallel_shared, {}}}) {
    Block layer({.d_model = 12,
                 .heads = 3,
                 .head_width = 6,
                 .ffn = 20,
                 .has_cross_attention = true,
                 .norm_order = order,
                 .norm = norm,
                 .activation = Activation::silu,
                 .gated_ffn = true,
                 .query_key_norm = true});
    randomise(layer, 6);
    const Variable encoded(random_tensor({2, 4, 12}, 13), {.requires_grad = true});
    Pass pass;
    const Variable y = layer.forward(random_tensor({2, 5, 12}, 14), causal(), layer.memory(encoded, {4, 4}), pass);
    sum(multiply(y, y)).backward();
    EXPECT_TRUE(encoded.grad().defined());
    layer.visit("", [order](const std::string& name, Variable& p) {
      ASSERT_TRUE(p.grad().defined()) << name;
      double largest = 0;
      for (const float g : p.grad().span<float>()) largest = std::max(largest, std::abs(static_cast<double>(g)));
      // A bias after the last norm of the keys moves all scores of a query alike: softmax does not see it.
      EXPECT_TRUE(largest > 1e-4 || name.ends_with("key_norm.bias")) << name_of(order) << " " << name;
    });
  }
}

TEST(Blocks, ErrorsSayWhatIsWrong) {
  EXPECT_THROW(Block({.d_model = 10, .heads = 3, .ffn = 4}), Error);
  Block layer({.d_model = 4, .heads = 2, .ffn = 6, .has_cross_attention = true}), plain({.d_model = 4, .ffn = 6});
  Pass pass;
  AttentionCache cache;
  const Block::Memory memory = layer.memory(random_tensor({2, 3, 4}, 15), {3, 3});
  const auto extend = [&](const Block& block, int64_t rows, const Block::Memory* of) {
    const Block::SelfSegment self = {.rows = rows, .cache = &cache};
    std::vector<Block::CrossSegment> cross;
    if (of) cross.push_back({.rows = rows, .memory = &of->keys_values, .mask = of->mask});
    block.extend(random_tensor({4, 4}, 1), std::span(&self, 1), cross, pass);
  };
  EXPECT_THROW(extend(layer, 2, &memory), Error) << "x of 4 rows";
  EXPECT_THROW(extend(layer, 4, nullptr), Error) << "no memory";
  EXPECT_THROW(extend(plain, 4, &memory), Error) << "no cross-attention";
  EXPECT_THROW(layer.forward(random_tensor({2, 3, 4}, 1), {}, pass), Error) << "no memory";
  EXPECT_THROW(plain.forward(random_tensor({2, 3, 4}, 1), {}, memory, pass), Error) << "no cross-attention";
  EXPECT_THROW(plain.memory(random_tensor({2, 3, 4}, 1), {3, 3}), Error) << "no cross-attention";
}

}  // namespace qkv::block_test
