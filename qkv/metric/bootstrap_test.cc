#include "qkv/metric/bootstrap.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/numpy_random.h"
#include "qkv/metric/ter.h"

namespace qkv::bootstrap_test {

TEST(NumpyRandom, DrawsWhatNumpyDraws) {
  metric::NumpyRandom random(12345);
  for (const uint32_t wanted : {6, 2, 7, 3, 2, 7, 6, 6, 9, 3, 8, 3, 5, 5, 2}) EXPECT_EQ(random.below(10), wanted);
  metric::NumpyRandom large(12345);
  for (const uint32_t wanted : {699215036, 227336023, 788646993, 316758341, 204176895, 797365462})
    EXPECT_EQ(large.below(1'000'000'007), wanted);
  EXPECT_EQ(large.below(1), 0u);
}

// The numbers of sacreBLEU 2.6.0 for the 40 pairs of test/golden/metrics.json, which it computes in single
// precision.
TEST(Bootstrap, AgreesWithSacreBleu) {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references(1);
  const auto golden = nlohmann::json::parse(std::ifstream(QKV_SOURCE_DIR "/test/golden/metrics.json"));
  for (const auto& pair : golden["pairs"]) {
    hypotheses.push_back(pair["hypothesis"]);
    references[0].push_back(pair["reference"]);
  }
  ASSERT_EQ(hypotheses.size(), 40u);
  const auto expect = [](const Confidence& c, double mean, double half_width) {
    EXPECT_NEAR(c.mean, mean, 1e-4);
    EXPECT_NEAR(c.half_width, half_width, 1e-4);
  };
  expect(bootstrap(bleu_statistics(hypotheses, references), [](auto sums) { return bleu_of(sums).score; }),
         61.511082246749936, 9.518707505245267);
  expect(bootstrap(chrf_statistics(hypotheses, references), [](auto sums) { return chrf_of(sums).score; }),
         79.03058, 7.0842896);
  const ChrfOptions plus{.word_order = 2};
  expect(bootstrap(chrf_statistics(hypotheses, references, plus),
                   [&](auto sums) { return chrf_of(sums, plus).score; }),
         77.565735, 7.03862);
  expect(bootstrap(ter_statistics(hypotheses, references), [](auto sums) { return ter_of(sums).score; }), 25.344185,
         7.639859);
}

TEST(Bootstrap, RejectsNoSentencesAndNoSamples) {
  const auto first = [](std::span<const double> sums) { return sums[0]; };
  EXPECT_THROW(bootstrap({}, first), InputError);
  EXPECT_THROW(bootstrap({{1.0}}, first, {.samples = 0}), UsageError);
  EXPECT_EQ(bootstrap({{1.0}, {1.0}}, first, {.samples = 1}).mean, 2.0);
}

}  // namespace qkv::bootstrap_test
