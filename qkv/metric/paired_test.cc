// Every number of test/golden/paired.json, which sacreBLEU 2.6.0 computed: scores, p-values, means and intervals of
// five systems by both tests, with one reference and with two, for two seeds.
#include "qkv/metric/paired.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/metric/evaluation.h"
#include "qkv/metric/numpy_random.h"

namespace qkv::paired_test {

using Json = nlohmann::json;

const Json& golden() {
  static const Json json = Json::parse(std::ifstream(QKV_SOURCE_DIR "/test/golden/paired.json"));
  return json;
}

TEST(NumpyRandom, DrawsTheBooleansOfNumpy) {
  metric::NumpyRandom random(12345);
  std::string drawn;
  for (int i = 0; i < 40; ++i) drawn += random.boolean() ? '1' : '0';
  EXPECT_EQ(drawn, "1011100110000011111111110100110110110001");
}

class PairedGolden : public testing::TestWithParam<size_t> {};

TEST_P(PairedGolden, AgreesWithSacreBleu) {
  const Json& wanted = golden()["results"][GetParam()];
  std::vector<SystemOutput> systems;
  for (const Json& system : golden()["systems"]) systems.push_back({system["name"], system["lines"]});
  std::vector<std::vector<std::string>> references = golden()["references"];
  references.resize(wanted["references"].get<size_t>());
  EvaluateOptions options{.paired = value_named<PairedTest>(wanted["test"].get<std::string>(), "golden", "test")};
  options.bootstrap = {.samples = wanted["n"], .seed = wanted["seed"]};
  options.randomization = {.trials = wanted["n"], .seed = wanted["seed"]};
  for (const int word_order : {0, 2}) {
    options.chrf.word_order = word_order;
    const std::vector<SystemResult> results = Evaluation(systems, references, options).results();
    for (size_t system = 0; system < results.size(); ++system)
      for (const MetricResult& result : results[system].metrics) {
        SCOPED_TRACE(result.name + " of " + results[system].name);
        const Json& metric = wanted["metrics"].at(result.name);
        const Json& numbers = metric["systems"][system];
        EXPECT_EQ(result.signature + "|version:2.6.0", metric["signature"].get<std::string>());
        EXPECT_NEAR(result.score, numbers["score"].get<double>(), 1e-9);
        EXPECT_EQ(result.p_value.has_value(), numbers.contains("p_value"));
        if (result.p_value) {
          EXPECT_DOUBLE_EQ(*result.p_value, numbers["p_value"].get<double>());
        }
        EXPECT_EQ(result.confidence.has_value(), numbers.contains("mean"));
        if (!result.confidence) continue;
        EXPECT_NEAR(result.confidence->mean, numbers["mean"].get<double>(), 1e-4);  // of single precision
        EXPECT_NEAR(result.confidence->half_width, numbers["ci"].get<double>(), 1e-4);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Paired, PairedGolden, testing::Range(size_t{0}, golden()["results"].size()));

const auto first_sum = [](std::span<const double> sums) { return sums[0]; };

TEST(Paired, ASystemDoesNotDifferFromItself) {
  const metric::Statistics rows = {{1.0}, {2.0}, {5.0}};
  EXPECT_EQ(paired_randomization(rows, rows, first_sum, {.trials = 99}), 0.01);
  const std::vector<double> scores = resampled_scores(rows, first_sum, {.samples = 99});
  EXPECT_EQ(paired_bootstrap(scores, scores, 0), 0.01);  // no resample differs more
}

TEST(Paired, RejectsInputsThatAreNotPaired) {
  EXPECT_THROW(paired_randomization({{1.0}}, {{1.0}, {2.0}}, first_sum), InputError);
  EXPECT_THROW(paired_randomization({}, {}, first_sum), InputError);
  EXPECT_THROW(paired_randomization({{1.0}}, {{1.0}}, first_sum, {.trials = 0}), UsageError);
  EXPECT_THROW(paired_bootstrap(std::vector{1.0}, std::vector{1.0, 2.0}, 1.0), InputError);
  EXPECT_THROW(paired_bootstrap({}, {}, 1.0), InputError);
}

}  // namespace qkv::paired_test
