#include "qkv/train/parameter_shards.h"

#include <gtest/gtest.h>

#include "qkv/base/run_ranks.h"
#include "qkv/train/gradients_test.h"

namespace qkv::parameter_shards_test {

std::vector<Variable> some_parameters() {
  return {parameter(random_values(50'000, 1), {50, 1000}), parameter(random_values(7, 2), {7}),
          parameter(random_values(40'000, 3), {40'000})};
}

TEST(ParameterShards, AreWholeRangesThatCoverTheParameters) {
  for (const int ranks : {1, 2, 3, 8})
    run_ranks(ranks, [&](Communicator& c) {
      ParameterShards shards(some_parameters(), c);
      int64_t end = 0, own = 0;
      for (const Shard& shard : shards.shards()) {
        EXPECT_EQ(shard.begin, end);
        end = shard.end;
      }
      EXPECT_EQ(end, 90'007);
      for (const Variable& part : shards.own()) own += part.value().numel();
      EXPECT_EQ(own, shards.shards()[static_cast<size_t>(c.rank())].size());
      EXPECT_GT(shards.shards()[0].size(), 0);
    });
}

// What every rank writes to its part, all have after gather().
TEST(ParameterShards, GatherTheParametersOfAllRanks) {
  run_ranks(3, [&](Communicator& c) {
    std::vector<Variable> parameters = some_parameters();
    ParameterShards shards(parameters, c);
    for (Variable part : shards.own()) part.mutable_value().fill(static_cast<float>(c.rank() + 1));
    Tensor scratch = Tensor::empty({90'007});
    shards.gather(scratch);
    int64_t at = 0;
    for (const Variable& p : parameters)
      for (const float x : p.value().span<float>()) {
        int owner = 0;
        while (at >= shards.shards()[static_cast<size_t>(owner)].end) ++owner;
        ASSERT_EQ(x, static_cast<float>(owner + 1)) << at;
        ++at;
      }
  });
}

// The state of the ranks' optimizers is that of one optimizer of all parameters.
TEST(ParameterShards, CollectAndDistributeTheStateOfOneOptimizer) {
  std::vector<Variable> all = some_parameters();
  const std::unique_ptr<Optimizer> whole = make_optimizer(all, {});
  for (Variable& p : all) p.backward(p.value().clone());
  whole->step(0.1);
  run_ranks(3, [&](Communicator& c) {
    std::vector<Variable> parameters = some_parameters();
    ParameterShards shards(parameters, c);
    const std::unique_ptr<Optimizer> own = make_optimizer(shards.own(), {});
    shards.distribute(c.rank() == 0 ? whole->state() : std::vector<OptimizerState>{}, own->state());
    const std::vector<OptimizerState> collected = shards.collect(own->state()), wanted = whole->state();
    ASSERT_EQ(collected.size(), c.rank() == 0 ? wanted.size() : 0);
    for (size_t i = 0; i < collected.size(); ++i) {
      EXPECT_EQ(collected[i].name, wanted[i].name);
      EXPECT_EQ(collected[i].parameter, wanted[i].parameter);
      ASSERT_EQ(collected[i].value.shape(), wanted[i].value.shape());
      const auto x = collected[i].value.span<float>(), y = wanted[i].value.span<float>();
      EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin())) << i;
    }
  });
}

}  // namespace qkv::parameter_shards_test
