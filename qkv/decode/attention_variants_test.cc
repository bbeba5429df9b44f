// Search with every attention variant: decoding steps equal a pass of the whole decoder and do not depend on the
// batch and the beam.
#include <gtest/gtest.h>

#include "qkv/base/threads.h"
#include "qkv/decode/model_test.h"
#include "qkv/decode/score.h"
#include "qkv/decode/search.h"
#include "qkv/layer/attention_mechanisms_test.h"

namespace qkv::attention_variants_test {

using Ids = std::vector<int32_t>;
using Variants = std::pair<std::string, std::string>;  // self, cross

std::vector<Variants> all_variants() {
  std::vector<Variants> variants;
  for (const std::string& self : sample_variants(AttentionUse::encoder)) variants.emplace_back(self, "full");
  for (const std::string& cross : sample_variants(AttentionUse::cross))
    if (cross != "full") variants.emplace_back("full", cross);
  variants.emplace_back("multi-token=3:3:2,window=3", "local-m=2,additive");
  return variants;
}

class SearchWith : public testing::TestWithParam<Variants> {
 protected:
  Transformer model(uint64_t seed) const {
    return random_model(seed, [](TransformerConfig& c) {
      c.self_attention = attention_pattern(GetParam().first);
      c.cross_attention = attention_pattern(GetParam().second);
    });
  }
};

TEST_P(SearchWith, LogProbabilityIsThatOfScore) {
  const Transformer m = model(8);
  const std::vector<Ids> sentences = random_sentences(6, 9, 3);
  const PaddedBatch source = pad_batch(sentences);
  const auto found = search(m, source.ids, source.lengths, {.beam = 3, .n_best = 3, .max_length = 12});
  for (size_t rank = 0; rank < 3; ++rank) {
    std::vector<Ids> targets;
    for (const auto& of_sentence : found) targets.push_back(of_sentence.at(rank).ids);
    const std::vector<TargetScore> scores = score_targets(m, source.ids, source.lengths, targets);
    for (size_t b = 0; b < sentences.size(); ++b)
      EXPECT_NEAR(found[b][rank].log_probability, scores[b].log_probability, 1e-4);
  }
}

TEST_P(SearchWith, PackedWeightsFindTheSameBitForBit) {
  const Transformer m = model(8), packed = model(8);
  packed.pack_for_inference();
  const PaddedBatch source = pad_batch(random_sentences(6, 9, 3));
  const SearchOptions options = {.beam = 3, .n_best = 3, .max_length = 12};
  const auto expected = search(m, source.ids, source.lengths, options);
  const auto found = search(packed, source.ids, source.lengths, options);
  for (size_t b = 0; b < expected.size(); ++b)
    for (size_t i = 0; i < expected[b].size(); ++i) {
      EXPECT_EQ(found[b][i].ids, expected[b][i].ids);
      EXPECT_EQ(found[b][i].log_probability, expected[b][i].log_probability);
    }
}

TEST_P(SearchWith, ResultsDoNotDependOnTheBatchBitForBit) {
  const int before = threads();
  const Transformer m = model(9);
  std::vector<Ids> sentences = random_sentences(11, 12, 4);
  for (Ids& sentence : sentences)
    sentence.push_back(4);  // at least two: one query alone is computed as in decoding
  const PaddedBatch source = pad_batch(sentences);
  for (const int64_t beam : {1, 4}) {
    const SearchOptions options = {.beam = beam, .n_best = beam, .max_length = 15};
    set_threads(2);
    const auto together = search(m, source.ids, source.lengths, options);
    set_threads(1);
    for (size_t b = 0; b < sentences.size(); ++b) {
      const PaddedBatch one = pad_batch(std::span(&sentences[b], 1));
      const auto alone = search(m, one.ids, one.lengths, options);
      ASSERT_EQ(together[b].size(), alone[0].size());
      for (size_t i = 0; i < alone[0].size(); ++i) {
        EXPECT_EQ(together[b][i].ids, alone[0][i].ids);
        EXPECT_EQ(together[b][i].score, alone[0][i].score);
      }
    }
  }
  set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Variants, SearchWith, testing::ValuesIn(all_variants()),
                         [](const testing::TestParamInfo<Variants>& variant) {
                           return as_name(variant.param.first + "_" + variant.param.second);
                         });

}  // namespace qkv::attention_variants_test
