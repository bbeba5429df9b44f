#include "qkv/decode/generate_many.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"

namespace qkv::generate_many_test {

using Ids = std::vector<int32_t>;

CausalTransformer random_model(uint64_t seed = 1, int64_t vocabulary = 40) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.ffn = 24, c.decoder_layers = 2, c.max_positions = 60;
  CausalTransformer model(c, seed);
  uint64_t stream = 0;
  model.visit([&](const std::string&, Variable& p) {
    Random random(seed, ++stream);
    for (float& x : p.mutable_value().span<float>()) x = static_cast<float>(0.4 * random.normal());
  });
  return model;
}

std::vector<Ids> random_prompts(size_t count) {
  Random random(5);
  std::vector<Ids> prompts(count);
  for (Ids& prompt : prompts) {
    prompt.resize(1 + random.below(12));
    for (int32_t& id : prompt) id = static_cast<int32_t>(random.below(40));
  }
  return prompts;
}

auto starting(const CausalTransformer& model) {
  return [&model](int64_t rows) { return model.start(rows); };
}

const GenerateOptions drawn = {
    .eos = {3, 7, 11}, .max_tokens = 25, .position_limit = 30, .sampling = {.temperature = 0.9, .seed = 3}};

std::vector<Generated> one_by_one(const CausalTransformer& model, const std::vector<Ids>& prompts,
                                  const GenerateOptions& options) {
  std::vector<Generated> out;
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerateOptions alone = options;
    alone.first_stream = i;
    out.push_back(generate(*model.start(1), std::span(&prompts[i], 1), alone).front());
  }
  return out;
}

void expect_same(const std::vector<Generated>& found, const std::vector<Generated>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].ids, expected[i].ids) << i;
    EXPECT_EQ(found[i].log_probability, expected[i].log_probability) << i;
    EXPECT_EQ(found[i].end, expected[i].end) << i;
  }
}

TEST(GenerateMany, AnswersAreThoseOfEachPromptAlone) {
  const CausalTransformer model = random_model();
  const std::vector<Ids> prompts = random_prompts(23);
  const std::vector<Generated> expected = one_by_one(model, prompts, drawn);
  for (const int64_t batch_tokens : {1, 60, 150, 100'000})
    expect_same(generate_many(starting(model), prompts, {.batch_tokens = batch_tokens, .generate = drawn}),
                expected);
}

TEST(GenerateMany, AnswersAreThoseOfEachPromptAloneWithProposedTokens) {
  const CausalTransformer model = random_model();
  const auto draft = std::make_shared<const CausalTransformer>(random_model(1));
  const std::vector<Ids> prompts = random_prompts(17);
  GenerateOptions greedy = drawn;
  greedy.sampling.temperature = 0;
  const std::vector<Generated> expected = one_by_one(model, prompts, greedy);
  for (const bool looks_up : {true, false}) {
    GenerateManyOptions options = {.batch_tokens = 120, .generate = greedy};
    options.generate.proposer = looks_up ? lookup_proposer(4) : draft_proposer(draft, 3);
    const std::vector<Generated> found = generate_many(starting(model), prompts, options);
    expect_same(found, expected);
    int64_t accepted = 0;
    for (const Generated& one : found) accepted += one.speculated.accepted;
    EXPECT_GT(accepted, 0);
  }
}

TEST(GenerateMany, ARowThatEndsMakesRoomForTheNextPrompt) {
  const CausalTransformer model = random_model();
  const std::vector<Ids> prompts(4, {1, 5});
  std::vector<size_t> order;  // of the prompts, token by token
  const auto found = generate_many(
      starting(model), prompts,
      {.batch_tokens = 2 * 12, .generate = {.max_tokens = 10, .sampling = {.temperature = 0}}},
      [&](size_t prompt, int32_t) {
        order.push_back(prompt);
        return prompt != 0 || std::ranges::count(order, size_t{0}) < 3;  // prompt 0 ends after three tokens
      });
  EXPECT_EQ(found[0].ids.size(), 3u);
  EXPECT_EQ(std::vector<size_t>(order.begin(), order.begin() + 10),
            (std::vector<size_t>{0, 1, 0, 1, 0, 1, 1, 2, 1, 2}));
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(found[i].ids.size(), 10u);
}

TEST(GenerateMany, TellsHowManyPromptsHaveTheirAnswers) {
  const CausalTransformer model = random_model();
  const std::vector<Ids> prompts = random_prompts(9);
  std::vector<int64_t> told;
  generate_many(starting(model), prompts, {.batch_tokens = 100, .generate = drawn}, {},
                [&](int64_t ended) { told.push_back(ended); });
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), 9);
  const auto stop = [](int64_t) { throw std::runtime_error("stop"); };
  EXPECT_THROW(generate_many(starting(model), prompts, {.generate = drawn}, {}, stop), std::runtime_error);
}

TEST(GenerateMany, TakesNoPromptsAndRefusesEmptyOnes) {
  const CausalTransformer model = random_model();
  EXPECT_TRUE(generate_many(starting(model), {}).empty());
  EXPECT_THROW(generate_many(starting(model), std::vector<Ids>{{1}, {}}), Error);
  EXPECT_THROW(generate_many(starting(model), std::vector<Ids>{{1}}, {.batch_tokens = 0}), UsageError);
}

}  // namespace qkv::generate_many_test
