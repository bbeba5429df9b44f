#include "qkv/layer/context_attention.h"

#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/recurrent_test.h"

namespace qkv::context_attention_test {

using namespace test;

constexpr int64_t B = 2, S = 4, W = 3;
const std::vector<int32_t> lengths = {4, 3};

// The contexts of R states, (R,C): `score` of a state and an encoder state, `factor` of position j of L (local-p).
using PairScore = std::function<double(const LayerNumbers&, const Row& s, const Row& h, int64_t j)>;
using Factor = std::function<double(const LayerNumbers&, const Row& s, int64_t j, int64_t L)>;  // 0: not visible
struct Formula {
  int64_t C = W;
  PairScore score;
  Factor factor = [](const LayerNumbers&, const Row&, int64_t, int64_t) { return 1.0; };

  Row operator()(const Doubles& v, const LayerNumbers& p) const {  // s (R,W), h (B,S,C)
    Row contexts;
    const auto R = static_cast<int64_t>(v[0].size()) / W;
    for (int64_t r = 0; r < R; ++r) {
      const Row s = row_of(v[0], r, W);
      const int64_t b = r / (R / B), L = lengths[b];
      std::vector<Row> values;
      Row scores, factors;
      for (int64_t j = 0; j < L; ++j) {
        const Row h = row_of(v[1], b * S + j, C);
        const double by = factor(p, s, j, L);
        if (by == 0) continue;
        values.push_back(h);
        scores.push_back(score(p, s, h, j));
        factors.push_back(by);
      }
      contexts = joined(contexts, values.empty() ? Row(C) : average_of(values, scores, factors));
    }
    return contexts;
  }
};

double additive_of(const LayerNumbers& p, const Row& s, const Row& h, int64_t) {
  Row features = p.linear("query", s);
  const Row key = p.linear("key", h);
  for (size_t i = 0; i < features.size(); ++i) features[i] = std::tanh(features[i] + key[i]);
  return dot_of(p.parameters.at("score"), features);
}
double bilinear_of(const LayerNumbers& p, const Row& s, const Row& h, int64_t) {
  return dot_of(s, p.linear("key", h));
}
double dot_score_of(const LayerNumbers&, const Row& s, const Row& h, int64_t) { return dot_of(s, h); }
double location_of(const LayerNumbers& p, const Row& s, const Row&, int64_t j) {
  return p.product("location.rows", s)[j];
}

void check(const std::string& variant, const Formula& formula, int64_t position = 0) {
  for (const int64_t beam : {1, 3}) {
    SCOPED_TRACE(fmt::format("{}, beam {}", variant, beam));
    ContextAttention layer({.width = W, .encoder_width = formula.C, .variant = attention_variant(variant)});
    randomise(layer, 1);
    check_layer(
        layer, {random_tensor({B * beam, W}, 1), random_tensor({B, S, formula.C}, 2)},
        [&](const Variables& v) {
          return layer.attend(v[0], layer.memory(v[1], lengths), {.position = position}).context;
        },
        formula);
  }
}

TEST(ContextAttention, AveragesTheStatesBySoftmaxOfEveryScore) {
  check("additive", {.C = 5, .score = additive_of});
  check("additive=7", {.C = W, .score = additive_of});
  check("bilinear", {.C = 5, .score = bilinear_of});
  check("bilinear", {.C = W, .score = bilinear_of});
  check("dot", {.score = dot_score_of});
  check("full", {.score = [](const LayerNumbers& p, const Row& s, const Row& h, int64_t j) {
          return dot_score_of(p, s, h, j) / std::sqrt(static_cast<double>(W));
        }});
  check("location=6", {.C = 5, .score = location_of});
}

TEST(ContextAttention, LocalAttentionIsAroundThePositionOfTheState) {
  check(
      "bilinear+local-m=1",
      {.C = 5,
       .score = bilinear_of,
       .factor = [](const LayerNumbers&, const Row&, int64_t j, int64_t) { return std::abs(j - 2) <= 1 ? 1 : 0; }},
      2);
}

TEST(ContextAttention, LocalAttentionMayPredictThePositionFromTheState) {
  const Factor gaussian = [](const LayerNumbers& p, const Row& s, int64_t j, int64_t L) {
    Row features = p.product("local-p.query", s);
    for (double& x : features) x = std::tanh(x);
    const double center =
        static_cast<double>(L) * LayerNumbers::sigmoid(dot_of(p.parameters.at("local-p.score"), features));
    const double apart = static_cast<double>(j) - center;
    return std::abs(apart) <= 2 ? std::exp(-apart * apart / 2) : 0;  // sigma = radius / 2 = 1
  };
  check("dot+local-p=2", {.score = dot_score_of, .factor = gaussian});
  check("additive=4+local-p=2", {.C = 5, .score = additive_of, .factor = gaussian});
}

TEST(ContextAttention, HasWeightsOnRequest) {
  ContextAttention layer({.width = W, .encoder_width = 5, .variant = Additive{}});
  randomise(layer, 2);
  const auto memory = layer.memory(random_tensor({B, S, 5}, 3), lengths);
  const Tensor s = random_tensor({B * 3, W}, 4);
  const auto plain = layer.attend(s, memory, {}), with = layer.attend(s, memory, {.weights = true});
  EXPECT_FALSE(plain.weights.defined());
  EXPECT_TRUE(same_bits(plain.context.value(), with.context.value()));
  ASSERT_EQ(with.weights.shape(), (Shape{B, 1, 3, S}));
  for (int64_t n = 0; n < 3; ++n) EXPECT_EQ(with.weights.at<float>({1, 0, n, 3}), 0.0f) << "after the end";
}

TEST(ContextAttention, AStateHasTheSameBitsForAnyBeamAndPadding) {
  ContextAttention layer({.width = 16, .encoder_width = 12, .variant = Additive{9}});
  randomise(layer, 3);
  const Tensor encoded = random_tensor({B, S, 12}, 5), s = random_tensor({B * 3, 16}, 6);
  const Tensor all = layer.attend(s, layer.memory(encoded, lengths), {}).context.value();
  const auto alone = layer.memory(encoded.slice(0, 1, 2).slice(1, 0, 3), {3});
  for (int64_t r = 3; r < 6; ++r)
    EXPECT_TRUE(same_bits(layer.attend(s.slice(0, r, r + 1), alone, {}).context.value(), all.slice(0, r, r + 1)));
}

TEST(ContextAttention, ReordersItsMemory) {
  for (const char* variant : {"additive", "dot"}) {
    ContextAttention layer({.width = W, .encoder_width = W, .variant = attention_variant(variant)});
    randomise(layer, 4);
    auto memory = layer.memory(random_tensor({B, S, W}, 7), lengths);
    const Tensor s = random_tensor({B, W}, 8), before = layer.attend(s, memory, {}).context.value();
    memory.reorder(std::vector<int64_t>{1});
    EXPECT_TRUE(same_bits(layer.attend(s.slice(0, 1, 2), memory, {}).context.value(), before.slice(0, 1, 2)));
  }
}

TEST(ContextAttention, NamesItsParameters) {
  const auto names = [](const char* variant) {
    ContextAttention layer({.width = W, .encoder_width = W, .variant = attention_variant(variant)});
    return names_of(layer, "");
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("additive=8"), (Names{"query.weight", "key.weight", "score"}));
  EXPECT_EQ(names("bilinear"), (Names{"key.weight"}));
  EXPECT_EQ(names("dot"), Names());
  EXPECT_EQ(names("dot+local-p=3"), (Names{"local-p.query", "local-p.score"}));
}

TEST(ContextAttention, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { ContextAttention({.width = 3, .encoder_width = 5, .variant = Dot{}}); }),
            "ContextAttention: 'dot' compares states of one width, got width 3 and encoder_width 5; bilinear and "
            "additive take any two");
  EXPECT_EQ(error_of([] { ContextAttention({.width = 3, .encoder_width = 0}); }),
            "ContextAttention: width 3 and encoder_width 0 must be positive");
  EXPECT_EQ(error_of([] { ContextAttention({.width = 3, .encoder_width = 3, .variant = SlidingWindow{2}}); }),
            "ContextAttention: 'window' is for self attention only");
  ContextAttention layer({.width = W, .encoder_width = W});
  EXPECT_EQ(error_of([&] {
              layer.memory(Tensor::zeros({2, 4, W}), {4});
            }),
            "ContextAttention: encoded must be (B,S,C) with B 1 lengths and C 3, got (2, 4, 3)");
  EXPECT_EQ(error_of([&] {
              layer.attend(Tensor::zeros({3, W}), layer.memory(Tensor::zeros({2, 4, W}), {4, 4}), {});
            }),
            "ContextAttention: states must be (R,W) with W 3 and R a multiple of B 2, got (3, 3)");
}

}  // namespace qkv::context_attention_test
