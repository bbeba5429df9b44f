#include "qkv/model/model_cost.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/cached_numbers.h"

namespace qkv::model_cost_test {

ModelConfig model(std::string_view name = "transformer-tiny") {
  ModelConfig config = recipe(name);
  config.set_vocabularies(1000, 1000);
  return config;
}

// Of each size, the growth of FLOPs at twice that size.
std::map<std::string_view, double> doubled_flops(const ModelConfig& config, const DescribeOptions& options) {
  const double base = model_cost(config, options).flops;
  std::map<std::string_view, double> out;
  for (const ModelGrowth& row : model_growth(config, options))
    if (row.factor == 2) out[row.size] = row.cost.flops / base;
  return out;
}

TEST(ModelCost, IsTheSumOfItsTokensAndReadsEachMatrixOnce) {
  const DescribeOptions options = {.source_length = 20, .target_length = 30, .batch = 4};
  const ModelCost cost = model_cost(model(), options);
  const FlopCount source = sum_of(flops_per_source_token(model(), options)),
                  target = sum_of(flops_per_target_token(model(), options));
  const auto flops = static_cast<double>(4 * 20 * source.flops + 4 * 30 * target.flops);
  EXPECT_DOUBLE_EQ(cost.flops, flops);
  const auto weights = static_cast<double>(4 * (source.weights + target.weights));
  EXPECT_DOUBLE_EQ(cost.weight_bytes, weights);
  EXPECT_DOUBLE_EQ(cost.bytes, weights + 80 * source.token_bytes + 120 * target.token_bytes);
  double parts = 0;
  for (const PartCost& part : cost.parts) parts += part.flops;
  EXPECT_DOUBLE_EQ(parts, flops);
  const CachedNumbers cached = cached_numbers(model());
  EXPECT_DOUBLE_EQ(cost.cache_bytes, 4.0 * 4 * static_cast<double>(30 * cached.target + 20 * cached.source));
}

TEST(ModelCost, GrowsWithEachSizeAsItsFormulasSay) {
  const auto growth = doubled_flops(model(), {.source_length = 20, .target_length = 30});
  EXPECT_DOUBLE_EQ(growth.at("batch B"), 2);
  EXPECT_DOUBLE_EQ(growth.at("heads H"), 1);  // narrower heads
  EXPECT_GT(growth.at("width C"), 3);         // matrices grow with the square
  EXPECT_LT(growth.at("width C"), 4);         // the output projection and attention do not
  EXPECT_GT(growth.at("layers"), 1.5);
  EXPECT_LT(growth.at("layers"), 2);  // the output projection does not grow
  // Doubling both lengths, as a batch of twice the tokens, and pairs of attention four times.
  const double longer = model_cost(model(), {.source_length = 40, .target_length = 60}).flops,
               given = model_cost(model(), {.source_length = 20, .target_length = 30}).flops;
  EXPECT_GT(longer, 2 * given);
  EXPECT_LT(longer, 4 * given);
}

TEST(ModelCost, ASizeThatAModelDoesNotHaveIsLeftOut) {
  EXPECT_FALSE(doubled_flops(model("luong"), {}).contains("heads H"));
  EXPECT_TRUE(doubled_flops(model("luong"), {}).contains("width C"));
  ModelConfig causal = model();
  causal.transformer().architecture = Architecture::causal;
  EXPECT_FALSE(doubled_flops(causal, {}).contains("source S"));
  ModelConfig masked = model();
  masked.transformer().architecture = Architecture::masked;
  EXPECT_FALSE(doubled_flops(masked, {}).contains("target T"));
}

TEST(ModelCost, LengthsBeyondThePositionsAreRefusedOrLeftOut) {
  ModelConfig learned = model();
  learned.transformer().positions = Positions::learned;
  learned.transformer().max_positions = 64;
  const DescribeOptions options = {.source_length = 64, .target_length = 64};
  EXPECT_FALSE(doubled_flops(learned, options).contains("source S"));
  EXPECT_THROW(model_cost(learned, {.source_length = 65}), UsageError);
  EXPECT_THROW(model_cost(learned, {.batch = 0}), UsageError);
}

}  // namespace qkv::model_cost_test
