#include "qkv/train/optimizer.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/train/gradients_test.h"

namespace qkv::optimizer_test {

// A matrix of ones after an update without gradient, which only weight decay changes.
float after_update(const OptimizerOptions& options) {
  Variable p = parameter({1, 1}, {1, 2});
  const std::unique_ptr<Optimizer> optimizer = make_optimizer({p}, options);
  give_gradient(p, {0, 0});
  optimizer->step(0.5);
  return p.value().at<float>({0, 0});
}

TEST(Optimizer, WeightDecayIsThatOfAdamW) {
  EXPECT_EQ(after_update({.kind = OptimizerKind::adam, .weight_decay = 0.1}), 1.0f);
  EXPECT_FLOAT_EQ(after_update({.kind = OptimizerKind::adamw, .weight_decay = 0.1}), 0.95f);
}

TEST(Optimizer, MuonIsForTheMatricesOfLayers) {
  const auto matrix = [] { return parameter({1, 2, 3, 4}, {2, 2}); };
  const NamedParameters parameters = {{"embedding.tokens", matrix()},
                                      {"layers.0.feed_forward.up.weight", matrix()},
                                      {"layers.0.norm1.weight", parameter({1, 1}, {2})},
                                      {"output.weight", matrix()}};
  std::vector<size_t> by_muon;
  for (const OptimizerState& state : make_optimizer(parameters, {.kind = OptimizerKind::muon})->state())
    if (state.name == "muon.momentum") by_muon.push_back(state.parameter);
  EXPECT_EQ(by_muon, (std::vector<size_t>{1}));
  EXPECT_THROW(make_optimizer({matrix()}, {.kind = OptimizerKind::muon}), UsageError);
}

TEST(Optimizer, ContinuesFromTheStateOfAnother) {
  const std::vector<float> start = random_values(6, 0), g1 = random_values(6, 1), g2 = random_values(6, 2);
  Variable p = parameter(start, {2, 3}), q = parameter(start, {2, 3});
  const std::unique_ptr<Optimizer> whole = make_optimizer({p}, {}), first = make_optimizer({q}, {});
  const auto update = [](Optimizer& optimizer, Variable& parameter, const std::vector<float>& g) {
    give_gradient(parameter, g);
    optimizer.step(0.1);
    optimizer.zero_grad();
  };
  update(*whole, p, g1);
  update(*whole, p, g2);
  update(*first, q, g1);
  const std::unique_ptr<Optimizer> second = make_optimizer({q}, {});
  const std::vector<OptimizerState> from = first->state(), to = second->state();
  ASSERT_EQ(from.size(), 2u);
  for (size_t i = 0; i < to.size(); ++i) {
    EXPECT_EQ(to[i].name, i == 0 ? "adam.first" : "adam.second");
    EXPECT_EQ(to[i].parameter, 0u);
    Tensor(to[i].value).copy_from(from[i].value);
  }
  second->set_updates(first->updates());
  update(*second, q, g2);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(p.value().span<float>()[i], q.value().span<float>()[i]);
}

TEST(Optimizer, RejectsANegativeNumberOfUpdates) {
  EXPECT_THROW(make_optimizer({parameter({1}, {1})}, {})->set_updates(-1), Error);
}

}  // namespace qkv::optimizer_test
