// The models of one stack learn what can be predicted from their tokens.
#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/model/causal.h"
#include "qkv/model/masked.h"
#include "qkv/train/adam.h"

namespace qkv::language_models_test {

using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 12;
constexpr int32_t mask = 11;

TransformerConfig small(Architecture architecture) {
  TransformerConfig c;
  c.architecture = architecture;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 32, c.heads = 4, c.ffn = 64, c.encoder_layers = c.decoder_layers = 2;
  c.max_positions = 40, c.dropout = 0.0f;
  return c;
}

template <class Model>
Adam optimizer_of(Model& model) {
  std::vector<Variable> parameters;
  model.visit("", [&](const std::string&, Variable& p) { parameters.push_back(p); });
  return Adam(parameters);
}

// Rows of ten tokens that count modulo 11, each with its own beginning and step.
Ids counting(uint64_t stream) {
  Random random(7, stream);
  Ids ids;
  for (int row = 0; row < 16; ++row) {
    const auto first = static_cast<int64_t>(random.below(11)), step = static_cast<int64_t>(1 + random.below(3));
    for (int64_t t = 0; t < 10; ++t) ids.push_back(static_cast<int32_t>((first + t * step) % 11));
  }
  return ids;
}

template <class Loss>
double loss_after(Adam adam, int updates, Loss loss) {
  double last = 0;
  for (int update = 0; update < updates; ++update) {
    Pass pass{.training = true, .seed = 1, .step = static_cast<uint64_t>(update)};
    const CrossEntropy e = loss(static_cast<uint64_t>(update), pass);
    adam.zero_grad();
    e.loss.backward();
    adam.step(3e-3);
    last = e.loss.value().at<float>({0});
  }
  return last;
}

// The first two tokens determine the step, and so all others. A unigram model has ln 11 = 2.4.
TEST(LanguageModels, ACausalOneLearnsToCount) {
  CausalTransformer model(small(Architecture::causal), 1);
  const double loss = loss_after(optimizer_of(model), 150, [&](uint64_t update, Pass& pass) {
    const Ids ids = counting(update);
    Ids targets(ids.size(), -1);
    for (size_t i = 0; i < ids.size(); ++i)
      if (i % 10 >= 1 && i % 10 < 9) targets[i] = ids[i + 1];
    return model.loss(Tensor::from(ids, {16, 10}), Tensor::from(targets, {16, 10}), {}, pass);
  });
  EXPECT_LT(loss, 0.3);
}

TEST(LanguageModels, AMaskedOneLearnsToFillAGap) {
  MaskedTransformer model(small(Architecture::masked), 1);
  const double loss = loss_after(optimizer_of(model), 400, [&](uint64_t update, Pass& pass) {
    Ids ids = counting(update), targets(ids.size(), -1);
    Random random(8, update);
    for (size_t row = 0; row < 16; ++row) {
      const size_t gap = row * 10 + random.below(10);
      targets[gap] = std::exchange(ids[gap], mask);
    }
    return model.loss(Tensor::from(ids, {16, 10}), std::vector<int32_t>(16, 10), Tensor::from(targets, {16, 10}),
                      {}, pass);
  });
  EXPECT_LT(loss, 0.3);
}

}  // namespace qkv::language_models_test
