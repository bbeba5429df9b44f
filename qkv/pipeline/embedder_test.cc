#include "qkv/pipeline/embedder.h"

#include <cmath>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"
#include "qkv/decode/model_test.h"
#include "qkv/model/model_file.h"

namespace qkv::embedder_test {

const std::vector<std::string> sentences = {"I am cold.", "a",        "", "Where are the two old towers?",
                                            "no",         "a a a a a"};

std::shared_ptr<const Model> model_of(Architecture architecture, const Tokenizer& tokenizer) {
  if (architecture == Architecture::causal)
    return std::make_shared<CausalTransformer>(random_language_model<CausalTransformer>(1, tokenizer));
  if (architecture == Architecture::masked)
    return std::make_shared<MaskedTransformer>(random_language_model<MaskedTransformer>(1, tokenizer));
  return std::make_shared<Transformer>(random_model(1, [&](TransformerConfig& c) {
    c.source_vocabulary = c.target_vocabulary = tokenizer.size();
    c.max_positions = 60;
  }));
}

class EveryArchitecture : public testing::TestWithParam<Architecture> {
 protected:
  Tokenizer tokenizer = language_model_tokenizer();
  Embedder embedder{model_of(GetParam(), tokenizer), tokenizer};

  std::vector<float> row(const Tensor& vectors, size_t i) const {
    const auto all = vectors.span<float>().subspan(i * 16, 16);
    return {all.begin(), all.end()};
  }
  // The hidden states of one sentence alone, (1,T,C).
  Tensor hidden(const std::string& sentence) const {
    std::vector<int32_t> ids = tokenizer.encode(sentence);
    ids.push_back(Tokenizer::eos);
    if (GetParam() != Architecture::encoder_decoder) ids.insert(ids.begin(), Tokenizer::bos);
    const auto T = static_cast<int32_t>(ids.size());
    const Tensor row = Tensor::from(ids, {1, T});
    Pass pass;
    const NoGrad guard;
    if (const auto* m = dynamic_cast<const CausalTransformer*>(&embedder.model()))
      return m->forward(row, pass).value();
    if (const auto* m = dynamic_cast<const MaskedTransformer*>(&embedder.model()))
      return m->encode(row, {T}, pass).value();
    return dynamic_cast<const Transformer&>(embedder.model()).encode(row, {T}, pass).memory.value();
  }
};
INSTANTIATE_TEST_SUITE_P(Embedder, EveryArchitecture,
                         testing::Values(Architecture::encoder_decoder, Architecture::causal,
                                         Architecture::masked));

TEST_P(EveryArchitecture, AVectorDoesNotDependOnTheOtherSentences) {
  for (const int64_t batch_tokens : {1, 20, 10000}) {
    const Tensor together = embedder.embed(sentences, {.batch_tokens = batch_tokens}).vectors;
    EXPECT_EQ(together.shape(), (Shape{6, 16}));
    for (size_t i = 0; i < sentences.size(); ++i)
      EXPECT_EQ(row(together, i), row(embedder.embed(std::span(sentences).subspan(i, 1)).vectors, 0));
  }
}

TEST_P(EveryArchitecture, PoolsTheHiddenStatesOfAllTokens) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last}) {
    const Tensor vectors = embedder.embed(sentences, {.pooling = pooling}).vectors;
    for (size_t i = 0; i < sentences.size(); ++i) {
      const Tensor states = hidden(sentences[i]);
      const int64_t T = states.dim(1);
      for (int64_t c = 0; c < 16; ++c) {
        double expected = 0;
        for (int64_t t = 0; t < T; ++t) expected += double{states.at<float>({0, t, c})} / static_cast<double>(T);
        if (pooling != Pooling::mean) expected = states.at<float>({0, pooling == Pooling::first ? 0 : T - 1, c});
        EXPECT_NEAR(vectors.at<float>({static_cast<int64_t>(i), c}), expected, 1e-5);
      }
    }
  }
}

TEST_P(EveryArchitecture, HasADefaultPoolingAndUnitLengthOnRequest) {
  const Pooling expected = GetParam() == Architecture::causal ? Pooling::last : Pooling::mean;
  const Tensor plain = embedder.embed(sentences).vectors;
  const Tensor named = embedder.embed(sentences, {.pooling = expected}).vectors;
  const Tensor unit = embedder.embed(sentences, {.normalize = true}).vectors;
  EXPECT_EQ(embedder.embed({sentences[0], sentences[1]}).vectors.dim(0), 2);
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(row(plain, i), row(named, i));
    double squares = 0;
    for (const float x : row(unit, i)) squares += double{x} * x;
    EXPECT_NEAR(squares, 1, 1e-5);
  }
}

TEST_P(EveryArchitecture, CutsWhatIsTooLongAndNamesIt) {
  const Embeddings e = embedder.embed(std::vector<std::string>{"a", std::string(500, 'a'), "no"});
  EXPECT_EQ(e.truncated, std::vector<size_t>{1});
  EXPECT_EQ(embedder.embed(std::vector<std::string>()).vectors.shape(), (Shape{0, 16}));
  EXPECT_THROW(embedder.embed(sentences, {.batch_tokens = 0}), UsageError);
  try {
    embedder.embed(std::vector<std::string>{"a", "\xff"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "sentence 2: invalid UTF-8 at byte 1");
  }
}

TEST_P(EveryArchitecture, OfAFolderEqualsThatOfItsParts) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("qkv-embedder-{}", ::getpid());
  save_model(folder, embedder.model());
  tokenizer.save(folder / (GetParam() == Architecture::encoder_decoder ? "source.model" : "tokenizer.model"));
  EXPECT_EQ(row(Embedder(folder).embed(sentences).vectors, 0), row(embedder.embed(sentences).vectors, 0));
  std::filesystem::remove_all(folder);
  EXPECT_THROW(Embedder(model_of(GetParam(), tokenizer), language_model_tokenizer(TokenizerType::character)),
               InputError)
      << "another vocabulary";
}

// Qwen2 adds no special tokens.
TEST(Embedder, ASentenceWithoutAnyTokenHasAVectorOfZeros) {
  const Embedder embedder(std::filesystem::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / "qwen2");
  const std::vector<std::string> texts = {"", "I", ""};
  // Memory that was written before shows a vector that is not.
  for (int times = 0; times < 2; ++times) {
    const Tensor vectors = embedder.embed(texts, {.normalize = times == 1}).vectors;
    const int64_t W = vectors.dim(1);
    for (int64_t i = 0; i < W; ++i) {
      EXPECT_EQ(vectors.at<float>({0, i}), 0);
      EXPECT_EQ(vectors.at<float>({2, i}), 0);
    }
    EXPECT_NE(vectors.at<float>({1, 0}), 0);
  }
}

}  // namespace qkv::embedder_test
