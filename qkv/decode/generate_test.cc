#include "qkv/decode/generate.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/causal.h"
#include "qkv/test_support/tensors.h"

namespace qkv::generate_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 12;

CausalTransformer random_model() {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.ffn = 24, c.decoder_layers = 2, c.max_positions = 30;
  CausalTransformer model(c, 1);
  uint64_t stream = 0;
  model.visit("", [&](const std::string&, Variable& p) {
    p.mutable_value().copy_from(random_tensor(p.shape(), ++stream, 0.4));
  });
  return model;
}

const std::vector<Ids> prompts = {{1, 5, 7}, {1}, {1, 4}, {1, 9, 9, 2, 6}};

std::vector<Generated> run(const CausalTransformer& model, const std::vector<Ids>& of,
                           const GenerateOptions& options, const OnToken& on_token = {}) {
  return generate(*model.start(static_cast<int64_t>(of.size())), of, options, on_token);
}

// The logits after each token, from the whole pass.
Tensor logits_of(const CausalTransformer& model, const Ids& ids) {
  Pass pass;
  const auto T = static_cast<int64_t>(ids.size());
  return model.logits(model.forward(Tensor::from(ids, {1, T}), pass)).value().reshape({T, vocabulary});
}

TEST(Generate, GreedyTakesTheLargestLogitOfTheWholePass) {
  const NoGrad guard;
  const CausalTransformer model = random_model();
  const auto found = run(model, prompts, {.max_tokens = 9, .sampling = {.temperature = 0}});
  for (size_t r = 0; r < prompts.size(); ++r) {
    ASSERT_EQ(found[r].ids.size(), 9u);
    EXPECT_EQ(found[r].end, Generated::End::max_tokens);
    Ids ids = prompts[r];
    for (const int32_t id : found[r].ids) {
      const Tensor all = logits_of(model, ids);
      const auto last = all.span<float>().last(vocabulary);
      EXPECT_EQ(id, std::max_element(last.begin(), last.end()) - last.begin());
      ids.push_back(id);
    }
  }
}

// The vocabulary is large enough that the largest logits are searched for.
TEST(Generate, GreedyWithoutScoresTakesTheSameTokens) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = 8192;
  c.d_model = 128, c.heads = 4, c.ffn = 16, c.decoder_layers = 1, c.max_positions = 150;
  const CausalTransformer model(c, 1);
  uint64_t stream = 0;
  model.visit("", [&](const std::string&, Variable& p) {
    p.mutable_value().copy_from(random_tensor(p.shape(), ++stream, 0.4));
  });
  const std::vector<Ids> of = {{1, 500, 7}, {1}};
  GenerateOptions options = {.eos = {3},
                             .max_tokens = 110,
                             .min_tokens = 5,
                             .sampling = {.temperature = 0, .no_repeat_ngram = 2, .suppress_tokens = {7}}};
  const auto expected = run(model, of, options);
  const std::unique_ptr<Decoding> rows = model.start(2);
  EXPECT_FALSE(rows->searches_largest(2));
  options.scores = false;
  const auto found = generate(*rows, of, options);
  EXPECT_TRUE(rows->searches_largest(2));
  for (size_t r = 0; r < of.size(); ++r) {
    EXPECT_EQ(found[r].ids, expected[r].ids);
    EXPECT_EQ(found[r].end, expected[r].end);
    EXPECT_NE(expected[r].log_probability, 0);
    EXPECT_EQ(found[r].log_probability, 0);
  }
}

TEST(Generate, GreedyWithoutScoresRefusesTheSame) {
  const CausalTransformer model = random_model();
  Ids all(vocabulary);
  std::iota(all.begin(), all.end(), 0);
  for (const bool scores : {true, false}) {
    GenerateOptions options = {
        .max_tokens = 9, .sampling = {.temperature = 0, .suppress_tokens = all}, .scores = scores};
    EXPECT_THROW(run(model, {{1, 5}}, options), Error);
    options.sampling.suppress_tokens = {vocabulary};
    EXPECT_THROW(run(model, {{1, 5}}, options), Error);
  }
}

TEST(Generate, ARowIsTheSameWithAnyOthers) {
  const CausalTransformer model = random_model();
  const GenerateOptions options = {.eos = {3}, .max_tokens = 15, .sampling = {.top_p = 0.95, .seed = 4}};
  const auto together = run(model, prompts, options);
  for (size_t r = 0; r < prompts.size(); ++r) {
    GenerateOptions alone = options;
    alone.first_stream = r;
    const auto one = run(model, {prompts[r]}, alone);
    EXPECT_EQ(one[0].ids, together[r].ids);
    EXPECT_EQ(one[0].log_probability, together[r].log_probability);
    EXPECT_EQ(one[0].end, together[r].end);
  }
}

TEST(Generate, EndsAtEosAtTheLimitsAndWhereItIsStopped) {
  const CausalTransformer model = random_model();
  const GenerateOptions options = {.eos = {3, 8}, .max_tokens = 20, .sampling = {.temperature = 1.5, .seed = 2}};
  bool any = false;
  for (const Generated& g : run(model, prompts, options)) {
    EXPECT_TRUE(std::find(g.ids.begin(), g.ids.end(), 3) == g.ids.end()) << "without eos";
    EXPECT_EQ(g.end == Generated::End::eos, g.ids.size() < 20);
    any = any || g.end == Generated::End::eos;
  }
  EXPECT_TRUE(any);
  GenerateOptions later = options;
  later.min_tokens = 6;
  for (const Generated& g : run(model, prompts, later)) EXPECT_GE(g.ids.size(), 6u);
  GenerateOptions limited = options;
  limited.eos = {}, limited.position_limit = 8;
  const auto full = run(model, prompts, limited);
  for (size_t r = 0; r < prompts.size(); ++r) {
    EXPECT_EQ(prompts[r].size() + full[r].ids.size(), 9u) << "the last one is not read";
    EXPECT_EQ(full[r].end, Generated::End::position_limit);
  }
  EXPECT_EQ(run(model, {Ids(8, 1)}, limited)[0].ids.size(), 1u) << "a prompt that fills the model";

  std::vector<Ids> seen(prompts.size());
  const auto stopped = run(model, prompts, limited, [&](size_t row, int32_t id) {
    seen[row].push_back(id);
    return row != 1 || seen[row].size() < 2;
  });
  for (size_t r = 0; r < prompts.size(); ++r) EXPECT_EQ(seen[r], stopped[r].ids);
  EXPECT_EQ(stopped[1].ids.size(), 2u);
  EXPECT_EQ(stopped[1].end, Generated::End::stopped);
}

TEST(Generate, LogProbabilityIsThatOfTheWholePass) {
  const NoGrad guard;
  const CausalTransformer model = random_model();
  const auto found = run(model, prompts, {.max_tokens = 6, .sampling = {.top_k = 4, .seed = 9}});
  for (size_t r = 0; r < prompts.size(); ++r) {
    Ids ids = prompts[r], targets(prompts[r].size() - 1, -1);
    ids.insert(ids.end(), found[r].ids.begin(), found[r].ids.end());
    targets.insert(targets.end(), found[r].ids.begin(), found[r].ids.end());
    ids.pop_back();
    const auto T = static_cast<int64_t>(ids.size());
    Pass pass;
    const CrossEntropy e = model.loss(Tensor::from(ids, {1, T}), Tensor::from(targets, {1, T}),
                                      {.reduction = CrossEntropyOptions::Reduction::sum}, pass);
    EXPECT_NEAR(found[r].log_probability, -e.loss.value().at<float>({0}), 1e-4);
  }
}

TEST(Generate, ErrorsSayWhatIsWrong) {
  const CausalTransformer model = random_model();
  EXPECT_THROW(run(model, {{}}, {}), Error) << "an empty prompt";
  EXPECT_THROW(generate(*model.start(2), std::vector<Ids>{{1}}), Error) << "two rows, one prompt";
  GenerateOptions none, cold;
  none.max_tokens = 0, cold.sampling.temperature = -1;
  EXPECT_THROW(run(model, {{1}}, none), UsageError);
  EXPECT_THROW(run(model, {{1}}, cold), UsageError);
}

}  // namespace qkv::generate_test
