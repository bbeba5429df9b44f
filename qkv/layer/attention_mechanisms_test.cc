// The guarantees of MultiHeadAttention for every mechanism.
#include "qkv/layer/attention_mechanisms_test.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/layer/attention_layer_test.h"

namespace qkv::attention_mechanisms_test {

using namespace test;

class SelfVariant : public testing::TestWithParam<std::string> {};
class CrossVariant : public testing::TestWithParam<std::string> {};

// The derivative of y . upstream along a direction, by finite differences and by gradients: of x and every
// parameter. Boxcar and local-p have edges where y jumps: a direction in which the differences of two step sizes
// disagree crosses one, and another direction is drawn.
template <class Forward>
void check_gradients(MultiHeadAttention& layer, Variable x, Forward forward) {
  const auto dot = [](const Tensor& a, const Tensor& b) {
    const Tensor p = a.contiguous_copy(), q = b.contiguous_copy();
    double sum = 0;
    for (int64_t i = 0; i < p.numel(); ++i) sum += static_cast<double>(p.data<float>()[i]) * q.data<float>()[i];
    return sum;
  };
  const Variable y = forward(x);
  const Tensor upstream = random_tensor(y.shape(), 77);
  y.backward(upstream);
  const auto check = [&](const std::string& name, Variable& p) {
    const Tensor grad = p.grad().defined() ? p.grad() : Tensor::zeros(p.shape());  // not read
    const Tensor before = p.value().clone();
    for (uint64_t stream = 78; stream < 178; ++stream) {
      const Tensor direction = random_tensor(p.shape(), stream);
      const auto at = [&](double h) {
        Tensor& value = p.mutable_value();
        for (int64_t i = 0; i < value.numel(); ++i)
          value.data<float>()[i] = before.data<float>()[i] + static_cast<float>(h) * direction.data<float>()[i];
        return dot(forward(x).value(), upstream);
      };
      const auto slope = [&](double h) { return (at(h) - at(-h)) / (2 * h); };
      const double near = slope(1e-3), far = slope(2e-3), expected = (4 * near - far) / 3,
                   scale = 0.02 * std::max(1.0, std::abs(expected));
      at(0);
      if (std::abs(near - far) > scale) continue;
      EXPECT_NEAR(dot(grad, direction), expected, scale) << name;
      return;
    }
    ADD_FAILURE() << name << ": every direction crosses an edge";
  };
  check("x", x);
  layer.visit("", check);
}

TEST_P(SelfVariant, GradientsAreThoseOfDifferences) {
  for (const AttentionUse use : {AttentionUse::encoder, AttentionUse::decoder}) {
    MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), use));
    const MaskPtr mask = use == AttentionUse::decoder ? causal() : padding({9, 6});
    Pass pass;
    check_gradients(layer, Variable(random_tensor({2, 9, 16}, 1), {.requires_grad = true}),
                    [&](const Variable& x) { return layer.forward(x, mask, pass); });
  }
}

TEST_P(CrossVariant, GradientsAreThoseOfDifferences) {
  MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), AttentionUse::cross));
  const Tensor memory = random_tensor({2, 9, 16}, 2), lengths = Tensor::from(std::vector<int32_t>{9, 6}, {2});
  Pass pass;
  check_gradients(layer, Variable(random_tensor({2, 5, 16}, 1), {.requires_grad = true}), [&](const Variable& x) {
    return layer.attend(x, layer.project(memory, memory, lengths), padding({9, 6}), pass);
  });
}

TEST_P(SelfVariant, StepsEqualTheCausalWhole) {
  const MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), AttentionUse::decoder));
  const Tensor x = random_tensor({3, 40, 16}, 3);
  Pass pass;
  const Tensor whole = layer.forward(x, causal(), pass).value();
  const NoGrad guard;
  AttentionCache cache;
  for (int64_t t = 0; t < 40; ++t) {
    const Tensor y = layer.extend(x.slice(1, t, t + 1).contiguous_copy(), cache, pass).value();
    EXPECT_LT(largest_difference(y, whole.slice(1, t, t + 1)), 1e-5) << "position " << t;
    if (t == 20) cache.reorder(std::vector<int64_t>{0, 1, 2});
  }
  EXPECT_EQ(cache.length(), 40);
}

// Several positions at once, and rows at other positions in the same call.
TEST_P(SelfVariant, ChunksEqualTheCausalWhole) {
  const MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), AttentionUse::decoder));
  const Tensor x = random_tensor({3, 40, 16}, 3);
  Pass pass;
  const Tensor whole = layer.forward(x, causal(), pass).value();
  const NoGrad guard;
  std::array<AttentionCache, 2> caches;
  std::array<int64_t, 2> done = {0, 0};
  // Rows 0 and 1, and row 2.
  for (const auto& [two, one] :
       std::vector<std::pair<int64_t, int64_t>>{{5, 1}, {1, 1}, {20, 2}, {1, 30}, {13, 6}}) {
    const std::vector<MultiHeadAttention::SelfSegment> segments = {{.rows = 2, .length = two, .cache = &caches[0]},
                                                                   {.rows = 1, .length = one, .cache = &caches[1]}};
    Tensor in = Tensor::empty({2 * two + one, 16});
    in.slice(0, 0, 2 * two).reshape({2, two, 16}).copy_from(x.slice(0, 0, 2).slice(1, done[0], done[0] + two));
    in.slice(0, 2 * two, 2 * two + one)
        .reshape({1, one, 16})
        .copy_from(x.slice(0, 2, 3).slice(1, done[1], done[1] + one));
    const Tensor y = layer.extend(in, segments, pass).value();
    EXPECT_LT(largest_difference(y.slice(0, 0, 2 * two).reshape({2, two, 16}),
                                 whole.slice(0, 0, 2).slice(1, done[0], done[0] + two)),
              1e-5)
        << "from position " << done[0];
    EXPECT_LT(largest_difference(y.slice(0, 2 * two, 2 * two + one).reshape({1, one, 16}),
                                 whole.slice(0, 2, 3).slice(1, done[1], done[1] + one)),
              1e-5)
        << "from position " << done[1];
    done[0] += two, done[1] += one;
  }
  EXPECT_EQ(caches[0].length(), 40);
  EXPECT_EQ(caches[1].length(), 40);
}

// One sentence with three hypotheses, all at the same position.
TEST_P(CrossVariant, StepsEqualTheWhole) {
  const MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), AttentionUse::cross));
  const Tensor x = random_tensor({1, 12, 16}, 4), memory = random_tensor({1, 9, 16}, 5);
  const Tensor lengths = Tensor::from(std::vector<int32_t>{7}, {1});
  Pass pass;
  const auto projected = layer.project(memory, memory, lengths);
  const Tensor whole = layer.attend(x, projected, padding({7}), pass).value();
  const NoGrad guard;
  for (int64_t t = 0; t < 12; ++t) {
    Tensor rows = random_tensor({3, 16}, 6);
    rows.slice(0, 1, 2).copy_from(x.slice(1, t, t + 1).reshape({1, 16}));
    const MultiHeadAttention::CrossSegment segment = {
        .rows = 3, .memory = &projected, .mask = padding({7}), .position = t};
    const Tensor y = layer.extend(rows, std::span(&segment, 1), pass).value();
    EXPECT_LT(largest_difference(y.slice(0, 1, 2), whole.slice(1, t, t + 1).reshape({1, 16})), 1e-5)
        << "position " << t;
  }
}

// Two sentences with two hypotheses of four positions each, and a sentence with one of three.
TEST_P(CrossVariant, ChunksEqualTheWhole) {
  const MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), AttentionUse::cross));
  const Tensor x = random_tensor({5, 12, 16}, 4), memory = random_tensor({3, 9, 16}, 5);
  const auto projected = [&](int64_t from, int64_t to, const std::vector<int32_t>& lengths) {
    const Tensor rows = memory.slice(0, from, to).contiguous_copy();
    return layer.project(rows, rows, Tensor::from(lengths, {to - from}));
  };
  Pass pass;
  const auto whole = [&](int64_t row, int64_t sentence, int32_t length) {
    return layer
        .attend(x.slice(0, row, row + 1).contiguous_copy(), projected(sentence, sentence + 1, {length}),
                padding({length}), pass)
        .value();
  };
  const NoGrad guard;
  const auto two = projected(0, 2, {7, 9}), one = projected(2, 3, {4});
  const std::vector<MultiHeadAttention::CrossSegment> segments = {
      {.rows = 4, .length = 4, .memory = &two, .mask = padding({7, 9}), .position = 2},
      {.rows = 1, .length = 3, .memory = &one, .mask = padding({4}), .position = 5}};
  Tensor in = Tensor::empty({4 * 4 + 3, 16});
  in.slice(0, 0, 16).reshape({4, 4, 16}).copy_from(x.slice(0, 0, 4).slice(1, 2, 6));
  in.slice(0, 16, 19).reshape({1, 3, 16}).copy_from(x.slice(0, 4, 5).slice(1, 5, 8));
  const Tensor y = layer.extend(in, segments, pass).value();
  for (int64_t row = 0; row < 4; ++row)
    EXPECT_LT(largest_difference(y.slice(0, 4 * row, 4 * row + 4),
                                 whole(row, row / 2, row < 2 ? 7 : 9).slice(1, 2, 6).reshape({4, 16})),
              1e-5)
        << "row " << row;
  EXPECT_LT(largest_difference(y.slice(0, 16, 19), whole(4, 2, 4).slice(1, 5, 8).reshape({3, 16})), 1e-5);
}

TEST_P(SelfVariant, RecordingTheWeightsChangesNothing) {
  const MultiHeadAttention layer = layer_of(options_of(attention_variant(GetParam()), AttentionUse::encoder));
  const Tensor x = random_tensor({2, 9, 16}, 7);
  AttentionLog log;
  Pass silent, recording{.log = &log};
  EXPECT_TRUE(same_bits(layer.forward(x, padding({9, 4}), recording).value(),
                        layer.forward(x, padding({9, 4}), silent).value()));
  ASSERT_EQ(log.entries.size(), 1u);
  const Tensor& weights = log.entries[0].weights;
  ASSERT_EQ(weights.shape(), (Shape{2, 4, 9, 9}));
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 4; j < 9; ++j) EXPECT_EQ(weights.at<float>({1, 2, i, j}), 0.0f) << "padding";
  double sum = 0;
  for (int64_t j = 0; j < 9; ++j) sum += weights.at<float>({0, 1, 2, j});
  EXPECT_GT(sum, 0.1);
  EXPECT_LT(sum, 2.0);
}

TEST_P(SelfVariant, PackedProjectionsGiveTheSameNumbers) {
  MultiHeadAttentionOptions options = options_of(attention_variant(GetParam()), AttentionUse::encoder);
  if (options.variant.has_global_projections()) return;  // cannot be fused
  MultiHeadAttention apart = layer_of(options);
  options.fused_qkv = true;
  MultiHeadAttention fused = layer_of(options);
  std::vector<Tensor> weights, biases, others;
  apart.visit("", [&](const std::string& name, Variable& p) {
    const bool projection = name.starts_with("query.") || name.starts_with("key.") || name.starts_with("value.");
    (!projection ? others : name.ends_with("weight") ? weights : biases).push_back(p.value());
  });
  size_t other = 0;
  fused.visit("", [&](const std::string& name, Variable& p) {
    const bool projection = name.starts_with("query_key_value.");
    if (!projection) return p.mutable_value().copy_from(others[other++]);
    int64_t row = 0;
    for (const Tensor& part : name.ends_with("weight") ? weights : biases) {
      p.mutable_value().slice(0, row, row + part.dim(0)).copy_from(part);
      row += part.dim(0);
    }
  });
  const Tensor x = random_tensor({2, 9, 16}, 8);
  Pass pass;
  EXPECT_TRUE(
      same_bits(fused.forward(x, padding({9, 4}), pass).value(), apart.forward(x, padding({9, 4}), pass).value()));
}

// In training the weights are dropped, as a function of seed and step.
TEST_P(SelfVariant, DropsWeightsInTrainingOnly) {
  MultiHeadAttentionOptions options = options_of(attention_variant(GetParam()), AttentionUse::encoder);
  const Tensor x = random_tensor({2, 9, 16}, 16);
  const auto run = [&](float rate, Pass pass) {
    options.dropout = rate;
    return layer_of(options).forward(x, padding({9, 4}), pass).value();
  };
  const Tensor plain = run(0, {}), dropped = run(0.5f, {.training = true, .seed = 9, .step = 4});
  EXPECT_TRUE(same_bits(run(0.5f, {.seed = 9, .step = 4}), plain));
  EXPECT_GT(largest_difference(dropped, plain), 1e-3);
  EXPECT_TRUE(same_bits(run(0.5f, {.training = true, .seed = 9, .step = 4}), dropped));
  EXPECT_FALSE(same_bits(run(0.5f, {.training = true, .seed = 9, .step = 5}), dropped));
}

std::string name_of_test(const testing::TestParamInfo<std::string>& variant) { return as_name(variant.param); }
INSTANTIATE_TEST_SUITE_P(All, SelfVariant, testing::ValuesIn(sample_variants(AttentionUse::encoder)), name_of_test);
INSTANTIATE_TEST_SUITE_P(All, CrossVariant, testing::ValuesIn(sample_variants(AttentionUse::cross)), name_of_test);

}  // namespace qkv::attention_mechanisms_test
