#include "qkv/layer/luong_decoder.h"

#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/recurrent_test.h"

namespace qkv::luong_decoder_test {

using namespace test;

constexpr int64_t B = 2, S = 3, T = 3, W = 3, C = 4, E = 2, N = 2;
const std::vector<int32_t> lengths = {3, 2};
const LuongDecoderOptions small = {.width = W, .encoder_width = C, .embedding_width = E, .layers = N};

// Inputs: y (B,T,E), encoded (B,S,C), the states of the encoder's layers (B,2W).
Row formula(const Doubles& v, const LayerNumbers& p) {
  Row outputs;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<Row> h;
    for (int64_t j = 0; j < lengths[b]; ++j) h.push_back(row_of(v[1], b * S + j, C));
    Row states[N] = {row_of(v[2], b, 2 * W), row_of(v[3], b, 2 * W)}, attentional(W);
    for (int64_t t = 0; t < T; ++t) {
      Row x = joined(row_of(v[0], b * T + t, E), attentional);
      for (int64_t n = 0; n < N; ++n) {
        states[n] = p.lstm(fmt::format("stack.layers.{}", n), x, states[n]);
        x = row_of(states[n], 0, W);
      }
      Row scores;
      for (const Row& state : h) scores.push_back(dot_of(x, p.linear("attention.key", state)));
      attentional = p.linear("combine", joined(average_of(h, scores, Row(h.size(), 1.0)), x));
      for (double& value : attentional) value = std::tanh(value);
      outputs = joined(outputs, attentional);
    }
  }
  return outputs;
}

TEST(LuongDecoder, AttendsFromTheTopStateAndFeedsTheResultToTheNextStep) {
  LuongDecoder layer(small);
  randomise(layer, 1);
  check_layer(
      layer,
      {random_tensor({B, T, E}, 1), random_tensor({B, S, C}, 2), random_tensor({B, 2 * W}, 3),
       random_tensor({B, 2 * W}, 4)},
      [&](const Variables& v) {
        Pass pass;
        return layer.forward(v[0], layer.start({{v[2], v[3]}}), layer.memory(v[1], lengths), pass);
      },
      formula);
}

struct Large {
  LuongDecoder layer;
  Tensor encoded = random_tensor({B, 9, 20}, 3), y = random_tensor({B, 6, 12}, 4);
  std::vector<int32_t> rows = {9, 5};
  Pass pass = {};
  explicit Large(const AttentionVariant& variant = Bilinear{})
      : layer({.width = 20, .encoder_width = 20, .embedding_width = 12, .layers = 2, .variant = variant}) {
    randomise(layer, 2);
  }
  Tensor whole() { return layer.forward(y, layer.start(B), layer.memory(encoded, rows), pass).value(); }
};

const AttentionVariant variants[] = {Dot{},
                                     Bilinear{},
                                     Additive{9},
                                     Location{9},
                                     Dot{} + LocalM{2},
                                     Bilinear{} + LocalM{2},
                                     Bilinear{} + LocalP{2},
                                     Additive{} + LocalP{3}};

TEST(LuongDecoder, StepsHaveTheBitsOfTheWholeWithEveryScore) {
  for (const AttentionVariant& variant : variants) {
    SCOPED_TRACE(to_string(variant));
    Large x(variant);
    const NoGrad no_grad;
    const Tensor whole = x.whole();
    const auto memory = x.layer.memory(x.encoded, x.rows);
    auto state = x.layer.start(B);
    for (int64_t t = 0; t < 6; ++t)
      EXPECT_TRUE(same_bits(x.layer.step(x.y.select(1, t), state, memory, x.pass).value(), whole.select(1, t)))
          << t;
    EXPECT_EQ(state.position, 6);
  }
}

TEST(LuongDecoder, RecordingAGradientChangesLittle) {
  for (const AttentionVariant& variant : variants) {
    Large x(variant);
    const Tensor recorded = x.whole();
    const NoGrad no_grad;
    EXPECT_LT(largest_difference(recorded, x.whole()), 1e-6) << to_string(variant);
  }
}

TEST(LuongDecoder, EveryParameterHasAGradientWithEveryScore) {
  for (const AttentionVariant& variant : variants) {
    Large x(variant);
    x.layer.forward(x.y, x.layer.start(B), x.layer.memory(x.encoded, x.rows), x.pass)
        .backward(random_tensor({B, 6, 20}, 5));
    x.layer.visit([&](const std::string& name, Variable& p) {
      ASSERT_TRUE(p.grad().defined()) << to_string(variant) << " " << name;
      EXPECT_GT(largest_difference(p.grad(), Tensor::zeros(p.shape())), 1e-4) << to_string(variant) << " " << name;
    });
  }
}

// Two hypotheses of each sentence, then only the second one of the second sentence.
TEST(LuongDecoder, HypothesesShareTheMemoryAndMayBeReordered) {
  for (const AttentionVariant& variant : variants) {
    SCOPED_TRACE(to_string(variant));
    Large x(variant);
    const NoGrad no_grad;
    auto memory = x.layer.memory(x.encoded, x.rows);
    auto state = x.layer.start(B);
    state.reorder(std::vector<int64_t>{0, 0, 1, 1});
    const Tensor first = random_tensor({4, 12}, 5), second = random_tensor({1, 12}, 6);
    const Tensor wide = x.layer.step(first, state, memory, x.pass).value();
    state.reorder(std::vector<int64_t>{3});
    memory.reorder(std::vector<int64_t>{1});
    const Tensor narrow = x.layer.step(second, state, memory, x.pass).value();

    const auto own = x.layer.memory(x.encoded.slice(0, 1, 2), {5});
    auto alone = x.layer.start(1);
    EXPECT_TRUE(same_bits(x.layer.step(first.slice(0, 3, 4), alone, own, x.pass).value(), wide.slice(0, 3, 4)));
    EXPECT_TRUE(same_bits(x.layer.step(second, alone, own, x.pass).value(), narrow));
  }
}

TEST(LuongDecoder, ARowDependsNeitherOnPaddingNorOnItsNeighbours) {
  for (const AttentionVariant& variant : variants) {
    Large x(variant);
    const Tensor whole = x.whole(), sentence = x.encoded.slice(0, 1, 2).slice(1, 0, 5);
    const Tensor alone =
        x.layer.forward(x.y.slice(0, 1, 2).slice(1, 0, 4), x.layer.start(1), x.layer.memory(sentence, {5}), x.pass)
            .value();
    EXPECT_TRUE(same_bits(alone, whole.slice(0, 1, 2).slice(1, 0, 4))) << to_string(variant);
  }
}

TEST(LuongDecoder, BeginsWithTheStateOfAnEncoderInOneOrBothDirections) {
  LuongDecoder layer({.width = 4, .encoder_width = 4, .embedding_width = E, .layers = 2});
  const Recurrent encoders[] = {
      Recurrent({.cell = CellKind::lstm, .input_width = E, .width = 4, .layers = 2}),
      Recurrent({.cell = CellKind::lstm, .input_width = E, .width = 2, .layers = 2, .bidirectional = true})};
  for (const Recurrent& encoder : encoders) {
    Pass pass;
    const auto [encoded, state] = encoder.forward(random_tensor({B, S, E}, 7), {}, pass);
    const Variable h =
        layer.forward(random_tensor({B, T, E}, 8), layer.start(state), layer.memory(encoded, lengths), pass);
    EXPECT_EQ(h.shape(), (Shape{B, T, 4}));
  }
}

TEST(LuongDecoder, LogsItsWeights) {
  Large x(Bilinear{} + LocalM{1});
  AttentionLog log;
  const Tensor silent = x.whole();
  x.pass.log = &log;
  EXPECT_TRUE(same_bits(x.whole(), silent));
  const Tensor& weights = log.weights(AttentionUse::cross, 0);
  ASSERT_EQ(weights.shape(), (Shape{B, 1, 6, 9}));
  for (int64_t t = 0; t < 6; ++t)
    for (int64_t j = 0; j < 9; ++j)
      EXPECT_EQ(weights.at<float>({1, 0, t, j}) != 0, std::abs(t - j) <= 1 && j < 5) << t << " " << j;
}

TEST(LuongDecoder, DropsInTrainingOnly) {
  LuongDecoderOptions options = small;
  options.dropout = 0.5f;
  LuongDecoder layer(options);
  randomise(layer, 3);
  const Tensor encoded = random_tensor({B, S, C}, 5), y = random_tensor({B, T, E}, 6);
  Pass testing, training{.training = true, .seed = 1};
  const auto run = [&](Pass& pass) {
    return layer.forward(y, layer.start(B), layer.memory(encoded, lengths), pass).value();
  };
  EXPECT_GT(largest_difference(run(training), run(testing)), 1e-2);
  EXPECT_EQ(training.dropouts, static_cast<uint64_t>(T * N)) << "between two layers, and after them, in every step";
}

TEST(LuongDecoder, SaysWhatIsWrong) {
  LuongDecoder layer(small);
  const Recurrent encoder({.cell = CellKind::gru, .input_width = E, .width = W, .layers = N});
  EXPECT_EQ(error_of([&] { layer.start(encoder.start(B)); }),
            "LuongDecoder: the state of a layer of the encoder must be (B,6): [h; c] of width 3, got (2, 3)");
  EXPECT_EQ(error_of([&] { layer.start(RecurrentState()); }), "LuongDecoder: the encoder has 0 layers, expected 2");
  Pass pass;
  EXPECT_EQ(error_of([&] {
              layer.forward(Tensor::zeros({B, T, 7}), layer.start(B),
                            layer.memory(Tensor::zeros({B, S, C}), lengths), pass);
            }),
            "LuongDecoder: y must be (B,T,E) with T at least 1 and E 2, got (2, 3, 7)");
}

}  // namespace qkv::luong_decoder_test
