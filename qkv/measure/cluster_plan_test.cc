#include "qkv/measure/cluster_plan.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::cluster_plan_test {

const NodeSpeed node = {.threads = 2,
                        .training = 1000,
                        .translation = 50'000,
                        .attention = 1e11,
                        .memory = 2.8e10,
                        .parameters = 100'000'000,
                        .embedding = 10'000'000};

TEST(ClusterPlan, AnUpdateOfOneNodeIsItsTokensAndItsOptimizer) {
  const TrainingPlan plan = plan_training(node, {.batch_tokens = 5000}, 1);
  EXPECT_DOUBLE_EQ(plan.compute, 5);
  EXPECT_EQ(plan.communication, 0);
  EXPECT_EQ(plan.sent, 0);
  EXPECT_DOUBLE_EQ(plan.optimizer, 0.1);
  EXPECT_DOUBLE_EQ(plan.memory, 16e8);
}

TEST(ClusterPlan, NodesShareTheTokensAndSendTheGradients) {
  const ClusterOptions cluster = {.cores = 4, .bandwidth = 0.1, .latency = 100, .jitter = 0, .batch_tokens = 8000};
  const TrainingPlan plan = plan_training(node, cluster, 8);
  EXPECT_DOUBLE_EQ(plan.compute, 0.5);  // 1,000 tokens at 2,000 a second
  EXPECT_DOUBLE_EQ(plan.sent, 7e8);
  EXPECT_DOUBLE_EQ(plan.communication, 7 + 2 * 3 * 1e-4);
  EXPECT_DOUBLE_EQ(plan.waiting, plan.communication - 0.5 * 2 / 3);
  EXPECT_DOUBLE_EQ(plan.seconds(), plan.compute + plan.waiting + plan.optimizer);
  ClusterOptions shared = cluster;
  shared.shard_optimizer = true;
  EXPECT_DOUBLE_EQ(plan_training(node, shared, 8).optimizer, plan.optimizer / 8);
  EXPECT_DOUBLE_EQ(plan_training(node, shared, 8).memory, 4e8 * 2.25);
}

TEST(ClusterPlan, TheEmbeddingIsSentWhenNothingIsComputed) {
  const TrainingPlan plan = plan_training(node, {.bandwidth = 10, .jitter = 0, .batch_tokens = 8000}, 8);
  EXPECT_DOUBLE_EQ(plan.compute, 1);
  EXPECT_DOUBLE_EQ(plan.waiting, plan.communication / 10);
}

TEST(ClusterPlan, TheSlowestNodeDecides) {
  EXPECT_EQ(slowest_of(64, 0), 1);
  EXPECT_NEAR(slowest_of(2, 0.1), 1 + 0.1 * 0.5642, 0.01);  // the mean of the larger of two normal numbers
  EXPECT_GT(slowest_of(256, 0.1), slowest_of(16, 0.1));
  EXPECT_EQ(slowest_of(16, 0.1), slowest_of(16, 0.1));
}

TEST(ClusterPlan, KeysAndValuesGoRound) {
  TransformerConfig config{.d_model = 256, .heads = 4, .kv_heads = 2};
  const ClusterOptions cluster = {.bandwidth = 1, .latency = 0, .context = 100'000};
  const ContextPlan one = plan_context(config, node, cluster, 1), four = plan_context(config, node, cluster, 4);
  EXPECT_DOUBLE_EQ(one.compute, 3.5 * 2 * 1e10 * 256 / 1e11);
  EXPECT_EQ(one.sent, 0);
  EXPECT_DOUBLE_EQ(four.compute, one.compute / 4);
  EXPECT_DOUBLE_EQ(four.sent, 3 * 0.75 * 2 * 25'000 * 128 * 4 * 3);
  EXPECT_DOUBLE_EQ(four.communication, four.sent / 1e9);
  EXPECT_DOUBLE_EQ(four.memory, one.memory / 4);
}

TEST(ClusterPlan, TablesHaveARowForEachPowerOfTwo) {
  EXPECT_EQ(node_counts(1), (std::vector<int64_t>{1}));
  EXPECT_EQ(node_counts(8), (std::vector<int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(node_counts(6), (std::vector<int64_t>{1, 2, 4, 6}));
  const std::string text = plan_tables(TransformerConfig{}, node, {.nodes = 4, .sentences = 1e6});
  EXPECT_NE(text.find("Training, 100,000,000 parameters, 25,000 target tokens an update"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Translation of 1,000,000 sentences of 25 target tokens"), std::string::npos) << text;
  EXPECT_NE(text.find("8.33 min"), std::string::npos) << text;  // 25,000,000 tokens at 50,000 a second
}

TEST(ClusterPlan, ErrorsNameTheOption) {
  for (const ClusterOptions& bad : std::vector<ClusterOptions>{{.nodes = 0},
                                                               {.cores = -1},
                                                               {.bandwidth = 0},
                                                               {.latency = -1},
                                                               {.jitter = 2},
                                                               {.batch_tokens = 0},
                                                               {.context = 0},
                                                               {.sentences = 0},
                                                               {.sentence_tokens = 0}})
    EXPECT_THROW(check_options(bad), UsageError);
  EXPECT_THROW(measure_node(RecurrentConfig{}), UsageError);
}

}  // namespace qkv::cluster_plan_test
