#include "qkv/decode/score_documents.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"

namespace qkv::score_documents_test {

using Ids = std::vector<int32_t>;

CausalTransformer random_model(uint64_t seed) {
  return random_language_model<CausalTransformer>(seed, language_model_tokenizer(),
                                                  [](TransformerConfig& c) { c.max_positions = 30; });
}

std::vector<Ids> random_documents(const std::vector<size_t>& lengths) {
  Random random(3);
  std::vector<Ids> out;
  for (const size_t length : lengths) {
    out.emplace_back(length);
    for (int32_t& id : out.back()) id = 3 + static_cast<int32_t>(random.below(20));
  }
  return out;
}

// log p of the last of these tokens, from the tokens before it, in double precision.
double log_probability_of_last(const CausalTransformer& model, const Ids& ids) {
  const NoGrad guard;
  Pass pass;
  const int64_t T = std::ssize(ids) - 1;
  const Tensor logits =
      model.logits(model.forward(Tensor::from(Ids(ids.begin(), ids.end() - 1), {1, T}), pass)).value();
  double sum = 0;
  for (int64_t v = 0; v < logits.dim(2); ++v) sum += std::exp(double{logits.at<float>({0, T - 1, v})});
  return double{logits.at<float>({0, T - 1, ids.back()})} - std::log(sum);
}

Ids framed(const Ids& document) {
  Ids ids = {Tokenizer::bos};
  ids.insert(ids.end(), document.begin(), document.end());
  ids.push_back(Tokenizer::eos);
  return ids;
}

TEST(ScoreDocuments, EveryTokenIsPredictedFromAllBeforeIt) {
  const CausalTransformer model = random_model(1);
  const std::vector<Ids> documents = random_documents({5, 0, 12, 29});
  const auto scores = score_documents(model, documents);
  for (size_t d = 0; d < documents.size(); ++d) {
    const Ids ids = framed(documents[d]);
    ASSERT_EQ(scores[d].token_log_probabilities.size(), documents[d].size() + 1);
    double sum = 0;
    for (size_t i = 1; i < ids.size(); ++i) {
      const Ids until(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      EXPECT_NEAR(scores[d].token_log_probabilities[i - 1], log_probability_of_last(model, until), 1e-4);
      sum += scores[d].token_log_probabilities[i - 1];
    }
    EXPECT_NEAR(scores[d].log_probability, sum, 1e-9);
  }
}

TEST(ScoreDocuments, EveryTokenOfALongDocumentIsPredictedInTheFirstWindowThatHasIt) {
  const CausalTransformer model = random_model(2);
  const std::vector<Ids> documents = random_documents({7, 8, 9, 40});
  for (const int64_t stride : {1, 3, 8}) {
    constexpr int64_t context = 8;
    const auto scores = score_documents(model, documents, {.context = context, .stride = stride});
    for (size_t d = 0; d < documents.size(); ++d) {
      const Ids ids = framed(documents[d]);
      for (int64_t i = 1; i < std::ssize(ids); ++i) {
        int64_t begin = 0;
        while (begin + context < i) begin += stride;
        const Ids window(ids.begin() + begin, ids.begin() + i + 1);
        EXPECT_NEAR(scores[d].token_log_probabilities[static_cast<size_t>(i - 1)],
                    log_probability_of_last(model, window), 1e-4)
            << "document " << d << " stride " << stride << " token " << i;
      }
    }
  }
}

TEST(ScoreDocuments, AScoreDoesNotDependOnTheOtherDocumentsNorOnTheBatches) {
  const CausalTransformer model = random_model(3);
  const std::vector<Ids> documents = random_documents({5, 70, 1, 0, 33});
  std::vector<int64_t> done;
  const auto together = score_documents(model, documents, {}, [&](int64_t n) { done.push_back(n); });
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 5);
  for (size_t d = 0; d < documents.size(); ++d) {
    const auto alone = score_documents(model, std::span(documents).subspan(d, 1), {.batch_tokens = 1});
    EXPECT_EQ(alone[0].token_log_probabilities, together[d].token_log_probabilities);
  }
}

TEST(ScoreDocuments, RefusesAContextBeyondThePositionsAndStridesThatLeaveTokensOut) {
  const CausalTransformer model = random_model(4);
  EXPECT_THROW(score_documents(model, {}, {.context = 31}), UsageError);
  EXPECT_THROW(score_documents(model, {}, {.stride = 31}), UsageError);
  EXPECT_THROW(score_documents(model, {}, {.context = 8, .stride = 9}), UsageError);
  EXPECT_TRUE(score_documents(model, {}).empty());
}

}  // namespace qkv::score_documents_test
