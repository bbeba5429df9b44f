#include "qkv/layer/bahdanau_decoder.h"

#include "qkv/layer/recurrent_test.h"
#include "qkv/op/shape.h"

namespace qkv::bahdanau_decoder_test {

using namespace test;

constexpr int64_t B = 2, S = 3, T = 3, W = 3, C = 4, E = 2, L = 2;
const std::vector<int32_t> lengths = {3, 2};
const BahdanauDecoderOptions small = {
    .width = W, .encoder_width = C, .embedding_width = E, .readout_width = L, .variant = Additive{5}};

// Inputs: y (B,T,E), encoded (B,S,C).
Row formula(const Doubles& v, const LayerNumbers& p) {
  Row readouts;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<Row> h;
    for (int64_t j = 0; j < lengths[b]; ++j) h.push_back(row_of(v[1], b * S + j, C));
    Row s = p.linear("initial", {h[0].begin() + C / 2, h[0].end()});
    for (double& x : s) x = std::tanh(x);
    for (int64_t t = 0; t < T; ++t) {
      const Row y = row_of(v[0], b * T + t, E), query = p.linear("attention.query", s);
      Row scores;
      for (const Row& state : h) {
        const Row key = p.linear("attention.key", state);
        scores.push_back(dot_of(p.parameters.at("attention.score"),
                                each(query, [&](size_t i) { return std::tanh(query[i] + key[i]); })));
      }
      const Row context = average_of(h, scores, Row(h.size(), 1.0));
      s = p.gru("cell", joined(y, context), s);
      const Row u = p.linear("state_readout", s), e = p.linear("embedding_readout", y),
                c = p.linear("context_readout", context);
      const auto sum = [&](size_t i) { return u[i] + e[i] + c[i]; };
      for (size_t i = 0; i < 2 * L; i += 2) readouts.push_back(std::max(sum(i), sum(i + 1)));
    }
  }
  return readouts;
}

TEST(BahdanauDecoder, AttendsFromThePreviousStateAndReadsOutByMaxout) {
  BahdanauDecoder layer(small);
  randomise(layer, 1);
  check_layer(
      layer, {random_tensor({B, T, E}, 1), random_tensor({B, S, C}, 2)},
      [&](const Variables& v) {
        Pass pass;
        return layer.forward(v[0], layer.start(v[1]), layer.memory(v[1], lengths), pass);
      },
      formula);
}

struct Large {
  BahdanauDecoder layer{{.width = 20, .encoder_width = 24, .embedding_width = 12}};
  Tensor encoded = random_tensor({B, 9, 24}, 3), y = random_tensor({B, 6, 12}, 4);
  std::vector<int32_t> rows = {9, 5};
  Pass pass;
  Large() { randomise(layer, 2); }
  Tensor whole() { return layer.forward(y, layer.start(encoded), layer.memory(encoded, rows), pass).value(); }
};

TEST(BahdanauDecoder, StepsHaveTheBitsOfTheWhole) {
  Large x;
  const NoGrad no_grad;
  const Tensor whole = x.whole();
  const auto memory = x.layer.memory(x.encoded, x.rows);
  auto state = x.layer.start(x.encoded);
  for (int64_t t = 0; t < 6; ++t)
    EXPECT_TRUE(same_bits(x.layer.step(x.y.select(1, t), state, memory, x.pass).value(), whole.select(1, t))) << t;
  EXPECT_EQ(state.position, 6);
}

TEST(BahdanauDecoder, RecordingAGradientChangesLittle) {
  Large x;
  const Tensor recorded = x.whole();
  const NoGrad no_grad;
  EXPECT_LT(largest_difference(recorded, x.whole()), 1e-6);
}

// Two hypotheses of each sentence, then only the second one of the second sentence.
TEST(BahdanauDecoder, HypothesesShareTheMemoryAndMayBeReordered) {
  Large x;
  const NoGrad no_grad;
  auto memory = x.layer.memory(x.encoded, x.rows);
  auto state = x.layer.start(x.encoded);
  state.reorder(std::vector<int64_t>{0, 0, 1, 1});
  const Tensor first = random_tensor({4, 12}, 5), second = random_tensor({1, 12}, 6);
  const Tensor wide = x.layer.step(first, state, memory, x.pass).value();
  state.reorder(std::vector<int64_t>{3});
  memory.reorder(std::vector<int64_t>{1});
  const Tensor narrow = x.layer.step(second, state, memory, x.pass).value();

  const Tensor sentence = x.encoded.slice(0, 1, 2);
  const auto own = x.layer.memory(sentence, {5});
  auto alone = x.layer.start(sentence);
  EXPECT_TRUE(same_bits(x.layer.step(first.slice(0, 3, 4), alone, own, x.pass).value(), wide.slice(0, 3, 4)));
  EXPECT_TRUE(same_bits(x.layer.step(second, alone, own, x.pass).value(), narrow));
}

TEST(BahdanauDecoder, ARowDependsNeitherOnPaddingNorOnItsNeighbours) {
  Large x;
  for (const bool no_gradient : {false, true}) {
    std::optional<NoGrad> scope;
    if (no_gradient) scope.emplace();
    const Tensor whole = x.whole(), sentence = x.encoded.slice(0, 1, 2).slice(1, 0, 5);
    const Tensor alone = x.layer
                             .forward(x.y.slice(0, 1, 2).slice(1, 0, 4), x.layer.start(sentence),
                                      x.layer.memory(sentence, {5}), x.pass)
                             .value();
    EXPECT_TRUE(same_bits(alone, whole.slice(0, 1, 2).slice(1, 0, 4))) << no_gradient;
  }
}

TEST(BahdanauDecoder, LogsItsWeights) {
  Large x;
  AttentionLog log;
  const Tensor silent = x.whole();
  x.pass.log = &log;
  EXPECT_TRUE(same_bits(x.whole(), silent));
  const Tensor& weights = log.weights(AttentionUse::cross, 0);
  ASSERT_EQ(weights.shape(), (Shape{B, 1, 6, 9}));
  for (int64_t t = 0; t < 6; ++t) {
    double sum = 0;
    for (int64_t j = 0; j < 5; ++j) sum += weights.at<float>({1, 0, t, j});
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  log.entries.clear();
  log.mean_over_heads = true;
  auto state = x.layer.start(x.encoded);
  x.layer.step(x.y.select(1, 0), state, x.layer.memory(x.encoded, x.rows), x.pass);
  EXPECT_EQ(log.weights(AttentionUse::cross, 0).shape(), (Shape{B, 1, 9}));
}

TEST(BahdanauDecoder, DropsItsReadoutInTrainingOnly) {
  BahdanauDecoderOptions options = small;
  options.dropout = 0.5f;
  BahdanauDecoder layer(options);
  randomise(layer, 3);
  const Tensor encoded = random_tensor({B, S, C}, 5), y = random_tensor({B, T, E}, 6);
  Pass testing, training{.training = true, .seed = 1};
  const auto run = [&](Pass& pass) {
    return layer.forward(y, layer.start(encoded), layer.memory(encoded, lengths), pass).value();
  };
  EXPECT_GT(largest_difference(run(training), run(testing)), 1e-2);
}

TEST(BahdanauDecoder, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { BahdanauDecoder({.width = 4, .encoder_width = 5, .embedding_width = 3}); }),
            "BahdanauDecoder: width 4, embedding_width 3 and encoder_width 5 must be positive, the last one even");
  BahdanauDecoder layer(small);
  Pass pass;
  EXPECT_EQ(error_of([&] {
              layer.start(Tensor::zeros({2, 3, 5}));
            }),
            "BahdanauDecoder: encoded must be (B,S,C) with S at least 1 and C 4, got (2, 3, 5)");
  const Tensor encoded = Tensor::zeros({B, S, C});
  EXPECT_EQ(error_of([&] {
              layer.forward(Tensor::zeros({B, T, 7}), layer.start(encoded), layer.memory(encoded, lengths), pass);
            }),
            "BahdanauDecoder: y must be (B,T,E) with T at least 1 and E 2, got (2, 3, 7)");
}

}  // namespace qkv::bahdanau_decoder_test
