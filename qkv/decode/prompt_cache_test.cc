#include "qkv/decode/prompt_cache.h"

#include <thread>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/decode/generate.h"
#include "qkv/test_support/tensors.h"

namespace qkv::prompt_cache_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 12;

std::shared_ptr<CausalTransformer> model_of(const AttentionVariant& variant,
                                            Positions positions = Positions::rotary) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.kv_heads = 2, c.ffn = 24, c.decoder_layers = 2;
  c.positions = positions, c.self_attention.decoder = variant;
  auto model = std::make_shared<CausalTransformer>(c, 1);
  model->visit("", [stream = 0](const std::string&, Variable& p) mutable {
    p.mutable_value().copy_from(random_tensor(p.shape(), static_cast<uint64_t>(++stream), 0.4));
  });
  return model;
}

Ids random_ids(size_t count, uint64_t stream) {
  Random random(1, stream);
  Ids ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(vocabulary));
  return ids;
}

struct Answer {
  Generated text;
  int64_t reused = 0;
};

Answer answer(const std::shared_ptr<const CausalTransformer>& model, const Ids& prompt,
              const std::shared_ptr<PromptCache>& cache, int64_t kept_tokens = 8192) {
  PromptRow row(model, prompt, {.cache = cache, .kept_tokens = kept_tokens});
  const GenerateOptions options = {
      .max_tokens = 20, .sampling = {.temperature = 0}, .proposer = lookup_proposer(3)};
  return {generate(row.decoding(), std::span(&prompt, 1), options).front(), row.reused()};
}

// A conversation of turns of so many tokens: each is answered after the prompts and answers before.
std::vector<int64_t> reused_in(const std::shared_ptr<const CausalTransformer>& model,
                               const std::vector<size_t>& turns) {
  const auto cache = std::make_shared<PromptCache>();
  std::vector<int64_t> reused;
  Ids prompt;
  for (const size_t tokens : turns) {
    const Ids more = random_ids(tokens, tokens);
    prompt.insert(prompt.end(), more.begin(), more.end());
    const Answer with = answer(model, prompt, cache),
                 without = answer(model, prompt, std::make_shared<PromptCache>());
    EXPECT_EQ(with.text.ids, without.text.ids) << prompt.size();
    EXPECT_EQ(with.text.log_probability, without.text.log_probability) << prompt.size();
    EXPECT_EQ(without.reused, 0);
    reused.push_back(with.reused);
    prompt.insert(prompt.end(), with.text.ids.begin(), with.text.ids.end());
  }
  return reused;
}

TEST(PromptRow, AnswersAreThoseWithoutACacheBitForBit) {
  const std::vector<int64_t> expected = {0, 0, 128, 256, 384};
  for (const AttentionVariant& variant :
       {AttentionVariant(Full{}), AttentionVariant(SlidingWindow{70}), AttentionVariant(LongformerSeparate{20, 9})})
    for (const CacheFormat format : {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8}) {
      const auto model = model_of(variant);
      model->set_cache_format(format);
      EXPECT_EQ(reused_in(model, {90, 50, 97, 120, 1}), expected) << name_of(format);
    }
}

TEST(PromptRow, ModelsThatCannotGoBackReadAllAgain) {
  const std::vector<int64_t> none = {0, 0, 0};
  EXPECT_EQ(reused_in(model_of(MultiToken{}), {130, 90, 80}), none);
  const Rotary dynamic = {.scaling = {.type = RotaryScalingType::dynamic, .factor = 4, .original_positions = 160}};
  EXPECT_EQ(reused_in(model_of(dynamic, Positions::none), {130, 90, 80}), none);
}

// Until that length, and after it, but not across.
TEST(PromptRow, LongRopeBeginsAgainAtTheLengthOfItsTraining) {
  const Rotary longrope = {.scaling = {.type = RotaryScalingType::longrope,
                                       .factor = 4,
                                       .original_positions = 300,
                                       .short_factors = {1, 1.5},
                                       .long_factors = {2, 3}}};
  const std::vector<int64_t> expected = {0, 128, 0, 384};
  EXPECT_EQ(reused_in(model_of(longrope, Positions::none), {130, 90, 180, 80}), expected);
}

TEST(PromptCache, HasTheLastPromptAndItsBeginning) {
  const auto model = model_of(Full{}), other = model_of(Full{});
  const auto cache = std::make_shared<PromptCache>();
  Ids a = random_ids(300, 1), b = random_ids(300, 2);
  answer(model, a, cache);
  EXPECT_EQ(answer(other, a, cache).reused, 0) << "another model";
  answer(model, a, cache);
  EXPECT_EQ(answer(model, a, cache).reused, 256);
  a[200] = (a[200] + 1) % vocabulary;
  EXPECT_EQ(answer(model, a, cache).reused, 128);
  EXPECT_EQ(answer(model, b, cache).reused, 0);
  EXPECT_EQ(answer(model, a, cache).reused, 0) << "b replaced it";
  EXPECT_EQ(answer(model, Ids(a.begin(), a.begin() + 256), cache).reused, 128) << "the last token is read";
}

TEST(PromptCache, KeepsAtMostSoManyTokens) {
  const auto model = model_of(Full{});
  const auto cache = std::make_shared<PromptCache>();
  const Ids prompt = random_ids(600, 1);
  answer(model, prompt, cache, 400);
  EXPECT_EQ(answer(model, prompt, cache, 100).reused, 384);
  EXPECT_EQ(answer(model, prompt, cache).reused, 0);
}

TEST(PromptCache, ARowThatHasNotReadItsPromptIsNotKept) {
  const auto model = model_of(Full{});
  const auto cache = std::make_shared<PromptCache>();
  const Ids prompt = random_ids(300, 1);
  { PromptRow row(model, prompt, {.cache = cache}); }
  EXPECT_EQ(answer(model, prompt, cache).reused, 0);
}

TEST(PromptCache, ThreadsHaveTheSameAnswers) {
  const auto model = model_of(Full{});
  const auto cache = std::make_shared<PromptCache>();
  const Ids prompt = random_ids(300, 1);
  const Generated expected = answer(model, prompt, std::make_shared<PromptCache>()).text;
  std::vector<std::thread> threads;
  std::vector<Generated> found(4);
  for (Generated& of : found)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) of = answer(model, prompt, cache).text;
    });
  for (std::thread& thread : threads) thread.join();
  for (const Generated& of : found) {
    EXPECT_EQ(of.ids, expected.ids);
    EXPECT_EQ(of.log_probability, expected.log_probability);
  }
}

}  // namespace qkv::prompt_cache_test
