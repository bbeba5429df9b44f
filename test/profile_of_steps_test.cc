// Profiles of every op, and of training steps: what is in them, not how long it takes.
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/distributed.h"
#include "qkv/attention/distributed_multi_token.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/multi_token.h"
#include "qkv/attention/packed.h"
#include "qkv/autograd/profile.h"
#include "qkv/base/json.h"
#include "qkv/base/world.h"
#include "qkv/measure/step_profile.h"
#include "qkv/model/transformer.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/batch_matmul.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/convert.h"
#include "qkv/op/cross_entropy.h"
#include "qkv/op/dropout.h"
#include "qkv/op/embedding.h"
#include "qkv/op/gru.h"
#include "qkv/op/linear.h"
#include "qkv/op/lstm.h"
#include "qkv/op/maxout.h"
#include "qkv/op/norm.h"
#include "qkv/op/rotary.h"
#include "qkv/op/shape.h"
#include "qkv/op/softmax.h"
#include "qkv/op/zero_padding.h"
#include "qkv/train/adam.h"
#include "qkv/train/gradient_norm.h"

namespace qkv::profile_of_steps_test {

using Span = Profile::Span;

Variable leaf(const Shape& shape) { return Variable(Tensor::full(shape, 0.5f), {.requires_grad = true}); }

std::vector<Span> spans_of(const std::function<Variable()>& op) {
  Profile profile;
  const ProfileScope on(&profile);
  const Variable y = op();
  y.backward(Tensor::full(y.shape(), 1.0f));
  return profile.spans();
}

std::set<std::string> names(const std::vector<Span>& spans, const std::function<bool(const Span&)>& chosen) {
  std::set<std::string> out;
  for (const Span& span : spans)
    if (chosen(span)) out.emplace(span.name);
  return out;
}

// The nodes of the tape are the spans that the span "tape" has, but for the sums of gradients.
std::set<std::string> nodes(const std::vector<Span>& spans) {
  return names(spans, [&](const Span& span) {
    return span.parent >= 0 && spans[static_cast<size_t>(span.parent)].name == "tape" &&
           span.name != "sum of gradients" && span.name != "copy of a gradient";
  });
}

double flops_of(const std::vector<Span>& spans, OpPass pass) {
  double flops = 0;
  for (const Span& span : spans)
    if (span.pass == pass) flops += span.work.flops;
  return flops;
}

TEST(ProfileOfOps, EveryOpOnTheTapeHasItsForward) {
  const Variable x = leaf({2, 3, 8}), w = leaf({8, 8}), b = leaf({8}), one = leaf({1}), rows = leaf({6, 8}),
                 heads = leaf({1, 2, 3, 4}), gates = leaf({2, 3, 24}), recurrent = leaf({24, 8}),
                 four_gates = leaf({2, 3, 32}), four = leaf({32, 8});
  const Tensor lengths = Tensor::from(std::vector<int32_t>{3, 1}, {2}), ids = Tensor::zeros({2, 3}, DType::i32),
               targets = Tensor::zeros({6}, DType::i32);
  const std::function<Variable()> ops[] = {
      [&] { return relu(x); },
      [&] { return gelu(x); },
      [&] { return gelu_tanh(x); },
      [&] { return silu(x); },
      [&] { return sigmoid(x); },
      [&] { return tanh(x); },
      [&] { return add(x, x); },
      [&] { return add(x, 1.0f); },
      [&] { return multiply(x, x); },
      [&] { return scale(x, 2.0f); },
      [&] { return scale(x, one); },
      [&] { return divide(x, one); },
      [&] { return sum(x); },
      [&] { return batch_matmul(x, transpose(x, 1, 2)); },
      [&] {
        return concatenate({x, x}, 1);
      },
      [&] { return split(x, 1)[1]; },
      [&] { return convert(convert(x, DType::bf16), DType::f32); },
      [&] { return cross_entropy(rows, targets).loss; },
      [&] {
        return linear_cross_entropy(rows, {w, b}, targets).loss;
      },
      [&] { return dropout(x, {.rate = 0.5f}); },
      [&] { return dropout_add(x, x, {.rate = 0.5f}); },
      [&] { return embedding(ids, w); },
      [&] { return gru(gates, recurrent, leaf({24})); },
      [&] { return lstm(four_gates, four, leaf({32})); },
      [&] { return linear(x, w, b); },
      [&] { return maxout(x, 2); },
      [&] { return layer_norm(x, b, b); },
      [&] { return rms_norm(x, b); },
      [&] { return unit_norm(x); },
      [&] { return rotary(heads); },
      [&] {
        return reshape(x, {6, 8});
      },
      [&] { return slice(x, 1, 0, 1); },
      [&] { return join_heads(split_heads(x, 2)); },
      [&] { return softmax(x); },
      [&] { return masked_softmax(x, lengths); },
      [&] { return zero_padding(x, lengths); },
      [&] { return attention(heads, heads, heads); },
      [&] {
        return attention_packed(leaf({3, 2, 4}), leaf({3, 2, 4}), leaf({3, 2, 4}), {0, 3}, {0, 3});
      },
      [&] { return multi_token_attention(heads, heads, heads, {}); },
      [&] {
        const SequenceLayout layout = contiguous_layout(3, 1);
        return distributed_attention(heads, heads, heads, {world(), layout, layout});
      },
      [&] {
        const SequenceLayout layout = contiguous_layout(3, 1);
        return distributed_multi_token_attention(heads, heads, heads, {world(), layout, layout});
      },
  };
  for (const auto& op : ops) {
    const std::vector<Span> spans = spans_of(op);
    const std::set<std::string> forward =
        names(spans, [](const Span& span) { return span.pass == OpPass::forward; });
    const std::set<std::string> recorded = nodes(spans);
    EXPECT_FALSE(recorded.empty());
    for (const std::string& name : recorded) EXPECT_TRUE(forward.contains(name)) << name << " has no forward";
  }
}

TEST(ProfileOfOps, AProductHas2MNKForwardAnd4MNKBackward) {
  const int64_t M = 6, N = 5, K = 8;
  const Variable x = leaf({2, 3, K}), w = leaf({N, K}), b = leaf({N});
  const std::vector<Span> spans = spans_of([&] { return linear(x, w, b); });
  EXPECT_EQ(flops_of(spans, OpPass::forward), 2 * M * N * K);
  EXPECT_EQ(flops_of(spans, OpPass::backward), 4 * M * N * K);
  const Variable constant = Tensor::full({2, 3, K}, 0.5f);
  EXPECT_EQ(flops_of(spans_of([&] { return linear(constant, w, b); }), OpPass::backward), 2 * M * N * K)
      << "without the gradient of x";
}

TEST(ProfileOfOps, ProductsOfOneInputAreCountedTogether) {
  const Variable x = leaf({6, 8}), w = leaf({5, 8}), v = leaf({3, 8});
  const std::vector<Span> spans = spans_of([&] {
    const auto [y, z] = linear<2>(x, {{{w, {}}, {v, {}}}});
    return concatenate({y, z}, 1);
  });
  EXPECT_EQ(flops_of(spans, OpPass::forward), 2 * 6 * (5 + 3) * 8);
  EXPECT_EQ(flops_of(spans, OpPass::backward), 4 * 6 * (5 + 3) * 8);
}

TEST(ProfileOfOps, ALossCountsItsThreeProducts) {
  const int64_t N = 6, V = 8, C = 8;
  const Variable x = leaf({N, C}), w = leaf({V, C});
  const Tensor targets = Tensor::zeros({N}, DType::i32);
  const std::vector<Span> spans = spans_of([&] { return linear_cross_entropy(x, {w, {}}, targets).loss; });
  EXPECT_EQ(flops_of(spans, OpPass::forward), 6 * N * V * C);
}

TEST(ProfileOfOps, AttentionCountsVisiblePairs) {
  const int64_t B = 2, H = 3, T = 5, D = 4;
  const Variable x = leaf({B, H, T, D});
  const double pairs = B * H * T * (T + 1) / 2;
  const std::vector<Span> spans = spans_of([&] { return attention(x, x, x, {.mask = causal()}); });
  EXPECT_EQ(flops_of(spans, OpPass::forward), pairs * 4 * D);
  EXPECT_EQ(flops_of(spans, OpPass::backward), pairs * 10 * D);
}

TEST(ProfileOfOps, ProductsOfBf16AreThose) {
  const Variable x = leaf({2, 3, 8});
  const Weight w = leaf({5, 8});
  w.train_in({.precision = Precision::bf16});
  int products = 0;
  for (const Span& span : spans_of([&] { return linear(x, w); })) {
    if (span.work.flops == 0) continue;
    ++products;
    EXPECT_EQ(span.work.numbers, WeightFormat::bf16) << span.name;
  }
  EXPECT_EQ(products, 3);
}

TEST(ProfileOfOps, ResultsForAFormatAreOfIntegersAndGradientsOfFloats) {
  const Variable x = leaf({2, 3, 32});
  const Weight w = leaf({5, 32});
  w.train_in({.weights = WeightFormat::q4_0});
  for (const Span& span : spans_of([&] { return linear(x, w); })) {
    if (span.work.flops == 0) continue;
    EXPECT_EQ(span.work.numbers, span.pass == OpPass::forward ? WeightFormat::int8 : WeightFormat::f32)
        << span.name;
  }
}

class ProfileOfSteps : public ::testing::Test {
 protected:
  ProfileOfSteps() {
    model_.visit([&](const std::string&, Variable& p) { parameters_.push_back(p); });
    Adam adam(parameters_);
    const Tensor ids = Tensor::zeros({2, 3}, DType::i32);
    for (uint64_t i = 0; i < 5; ++i) {
      const StepProfile::Step step(profile_);
      Pass pass{.training = true, .seed = 1, .step = i};
      model_.loss(ids, {3, 3}, ids, ids, {}, pass).loss.backward();
      gradient_norm(parameters_);
      adam.step(1e-3, 1.0);
      adam.zero_grad();
    }
  }

  Transformer model_{{.source_vocabulary = 10,
                      .target_vocabulary = 10,
                      .d_model = 16,
                      .heads = 2,
                      .ffn = 32,
                      .encoder_layers = 1,
                      .decoder_layers = 1,
                      .dropout = 0.1f,
                      .max_positions = 8},
                     1};
  std::vector<Variable> parameters_;
  StepProfile profile_{3, 1};  // of five
};

TEST_F(ProfileOfSteps, StepsAreRecordedAfterTheWarmupUntilThereAreEnough) {
  EXPECT_TRUE(profile_.is_complete());
  EXPECT_EQ(profile_.steps(), 3);
  int steps = 0;
  for (const Span& span : profile_.profile().spans()) steps += span.name == "step";
  EXPECT_EQ(steps, 3);
}

TEST_F(ProfileOfSteps, EveryPartOfAStepIsThere) {
  const std::vector<Span>& spans = profile_.profile().spans();
  const std::set<std::string> all = names(spans, [](const Span&) { return true; });
  for (const char* name : {"embedding", "linear", "linear: dx", "linear: db", "weight gradient",
                           "packing of weights", "attention", "relu", "dropout_add", "layer_norm",
                           "linear_cross_entropy", "linear_cross_entropy: logits", "tape", "gradient norm", "adam"})
    EXPECT_TRUE(all.contains(name)) << name;
  const std::set<std::string> forward = names(spans, [](const Span& s) { return s.pass == OpPass::forward; });
  for (const std::string& name : nodes(spans)) EXPECT_TRUE(forward.contains(name)) << name;
}

TEST_F(ProfileOfSteps, TheTraceIsOneOfCompleteEventsInEachOther) {
  const Json trace = Json::parse(profile_.trace("a test"));
  std::vector<double> ends;  // of the open events, outermost first
  size_t events = 0;
  double last = 0;
  for (const Json& event : trace.at("traceEvents")) {
    EXPECT_FALSE(event.at("name").text().empty());
    EXPECT_EQ(event.at("pid").get<int64_t>(), 1);
    EXPECT_EQ(event.at("tid").get<int64_t>(), 1);
    if (event.at("ph").text() == "M") continue;
    ASSERT_EQ(event.at("ph").text(), "X");
    ++events;
    const double begin = event.at("ts").get<double>(), end = begin + event.at("dur").get<double>();
    EXPECT_GE(begin, last);
    last = begin;
    while (!ends.empty() && ends.back() <= begin + 1e-4) ends.pop_back();
    const bool is_inside = ends.empty() || end <= ends.back() + 1e-4;
    EXPECT_TRUE(is_inside) << event.dump() << " ends after what it began in";
    ends.push_back(end);
  }
  EXPECT_EQ(events, profile_.profile().spans().size());
}

TEST_F(ProfileOfSteps, TheTableHasOpsPeaksAndTheirSum) {
  const std::string table = profile_.table({.f32 = 100, .bf16 = 0, .int8 = 0, .memory = 10});
  for (const char* part : {"3 updates of", "after 1 of warm-up", "f32 100 GFLOP/s, bf16 none, memory 10.0 GB/s",
                           "of peak", "of memory", "other", "100.0%", "attention"})
    EXPECT_NE(table.find(part), table.npos) << part << " is not in\n" << table;
}

}  // namespace qkv::profile_of_steps_test
