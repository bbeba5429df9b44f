// Ranks that share the sequences of a causal model: the losses and gradients of their parts add up to those of the whole.
#include <cmath>
#include <mutex>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/run_ranks.h"
#include "qkv/layer/layer_test.h"
#include "qkv/model/causal.h"

namespace qkv::causal_part_test {

using namespace test;

constexpr int64_t B = 2, T = 48, vocabulary = 11;

TransformerConfig small(Positions positions, const SelfAttention& self_attention = {}) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.kv_heads = 2, c.ffn = 24, c.decoder_layers = 2, c.max_positions = T;
  c.positions = positions;
  c.self_attention = self_attention;
  c.dropout = c.attention_dropout = c.ffn_dropout = 0.2f;
  return c;
}

Tensor random_ids(int64_t below, uint64_t stream) {
  Random random(5, stream);
  Tensor ids = Tensor::empty({B, T}, DType::i32);
  for (int32_t& id : ids.span<int32_t>()) id = static_cast<int32_t>(random.below(static_cast<uint64_t>(below)));
  return ids;
}

// Three documents in a row, the second of which is on every rank.
Packing packed() {
  Packing packing = {.documents = Tensor::empty({B, T}, DType::i32),
                     .positions = Tensor::empty({B, T}, DType::i32)};
  for (int64_t i = 0; i < B * T; ++i) {
    const int64_t t = i % T, begin = t < 5 ? 0 : t < 44 ? 5 : 44;
    packing.documents.data<int32_t>()[i] = static_cast<int32_t>(begin == 0 ? 0 : begin == 5 ? 1 : 2);
    packing.positions.data<int32_t>()[i] = static_cast<int32_t>(t - begin);
  }
  return packing;
}

struct Outcome {
  double loss = 0;
  int64_t count = 0;
  std::vector<std::vector<double>> gradients;  // of all parameters
};

// The sums over the ranks.
Outcome outcome(const TransformerConfig& config, const Packing& packing, int ranks, bool recompute) {
  const Tensor ids = random_ids(vocabulary, 1);
  Tensor targets = random_ids(vocabulary, 2);
  for (int64_t t = T / 2; t < T; ++t) targets.data<int32_t>()[T + t] = -1;  // some without a target
  Outcome sum;
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& c) {
    CausalTransformer model(config, 1);
    randomise(model, 1);
    Pass pass{.training = true, .seed = 3, .step = 4, .recompute = recompute, .part = SequencePart(c)};
    const CrossEntropy e =
        model.loss(ids, targets, {.reduction = CrossEntropyOptions::Reduction::sum}, pass, packing);
    e.loss.backward();
    const std::lock_guard lock(mutex);
    sum.loss += static_cast<double>(e.loss.value().at<float>({0}));
    sum.count += e.count;
    size_t i = 0;
    model.visit([&](const std::string&, Variable& p) {
      const std::vector<double> own = doubles(p.grad());
      if (i == sum.gradients.size()) sum.gradients.emplace_back(own.size(), 0.0);
      for (size_t j = 0; j < own.size(); ++j) sum.gradients[i][j] += own[j];
      ++i;
    });
  });
  return sum;
}

void expect_parts_add_up(const TransformerConfig& config, const Packing& packing = {}, bool recompute = false) {
  const Outcome whole = outcome(config, packing, 1, false);
  ASSERT_EQ(whole.count, B * T - T / 2);
  for (const int ranks : {2, 3, 4}) {
    const Outcome parts = outcome(config, packing, ranks, recompute);
    EXPECT_EQ(parts.count, whole.count);
    EXPECT_NEAR(parts.loss, whole.loss, 2e-6 * whole.loss) << ranks;
    ASSERT_EQ(parts.gradients.size(), whole.gradients.size());
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      double largest = 0, difference = 0;
      for (size_t j = 0; j < whole.gradients[i].size(); ++j) {
        largest = std::max(largest, std::abs(whole.gradients[i][j]));
        difference = std::max(difference, std::abs(whole.gradients[i][j] - parts.gradients[i][j]));
      }
      EXPECT_LE(difference, 2e-5 * std::max(largest, 1.0)) << "parameter " << i << ", " << ranks << " ranks";
    }
  }
}

TEST(CausalPart, LossesAndGradientsAreThoseOfTheWhole) {
  for (const Positions positions : {Positions::sinusoidal, Positions::learned, Positions::rotary, Positions::alibi})
    expect_parts_add_up(small(positions));
}

TEST(CausalPart, WindowsReachOverBlocks) { expect_parts_add_up(small(Positions::rotary, SlidingWindow{7})); }

TEST(CausalPart, PackedDocumentsSeeThemselvesAlone) {
  expect_parts_add_up(small(Positions::rotary), packed());
  expect_parts_add_up(small(Positions::learned), packed());
}

TEST(CausalPart, BlocksMayBeComputedAgain) {
  expect_parts_add_up(small(Positions::rotary), {}, /*recompute=*/true);
}

TEST(CausalPart, RefusesWhatNeedsWholeSequences) {
  const auto refused = [](TransformerConfig config, int64_t length, AttentionLog* log = nullptr) {
    run_ranks(2, [&](Communicator& c) {
      const CausalTransformer model(config, 1);
      Pass pass{.log = log, .part = SequencePart(c)};
      EXPECT_THROW(model.forward(Tensor::zeros({1, length}, DType::i32), pass), UsageError);
    });
  };
  const TransformerConfig config = small(Positions::rotary);
  refused(config, 6);  // not four blocks
  AttentionLog log;
  refused(config, 8, &log);
  refused(small(Positions::rotary, MultiToken{}), 8);
}

}  // namespace qkv::causal_part_test
