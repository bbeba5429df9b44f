#include "qkv/measure/speed_report.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"

namespace qkv::speed_report_test {

// Smaller than any other: what is measured here is that everything is measured.
SpeedReport small_report() {
  return measure_speed({.formats = {WeightFormat::int8}, .recipe = "transformer-tiny"});
}

TEST(SpeedReport, EverySpeedIsMeasured) {
  const SpeedReport report = small_report();
  EXPECT_GT(report.machine.f32, 0);
  EXPECT_GT(report.machine.memory, 0);
  ASSERT_EQ(report.products.size(), 1u);
  EXPECT_GT(report.products[0].second.gb_per_s, 0);
  EXPECT_GT(report.products[0].second.gflops, 0);
  ASSERT_EQ(report.translations.size(), 1u);
  for (const double speed : {report.translations[0].batch_1, report.translations[0].batch_64,
                             report.translations[0].beam_4, report.translations[0].gflops})
    EXPECT_GT(speed, 0);
}

TEST(SpeedReport, TablesAndJsonHaveTheSameNumbers) {
  SpeedReport report = {.instruction_set = "avx2", .recipe = "transformer-tiny", .threads = 2};
  report.machine = {.f32 = 200, .bf16 = 0, .int8 = 200, .narrow = 400, .memory = 30};
  report.products = {{WeightFormat::q4_0, {.gb_per_s = 15, .gflops = 100}}};
  report.translations = {{.format = WeightFormat::f32, .batch_1 = 1234, .batch_64 = 2, .beam_4 = 3, .gflops = 50}};
  const std::string text = speed_tables(report);
  for (const char* part :
       {"avx2, 2 threads: f32 200 GFLOP/s, bf16 none, int8 200 GFLOP/s, fewer bits 400 GFLOP/s; memory 30.0 GB/s",
        "50%", "25%", "1,234", "4.5"})
    EXPECT_NE(text.find(part), text.npos) << part << " is not in\n" << text;
  const Json json = speed_json(report);
  EXPECT_EQ(json["products"][0]["gflops"].get<double>(), 100);
  EXPECT_EQ(json["tokens_per_s"][0]["batch_1"].get<double>(), 1234);
}

TEST(SpeedReport, OtherRecipesAreRefused) {
  EXPECT_THROW(measure_speed({.recipe = "bahdanau"}), UsageError);
  EXPECT_THROW(measure_speed({.recipe = "transformer-tony"}), UsageError);
}

}  // namespace qkv::speed_report_test
