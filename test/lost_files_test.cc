// Whatever command fails, at whatever point, every file that was there before keeps its bytes, unless the command
// is there to replace it and the replacement is complete. Here a sample of the failures; all of them are in
// lost_files_slow_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/faults/fault_list.h"
#include "test/faults/walk.h"

namespace qkv {
namespace {

class LostFiles : public testing::TestWithParam<const char*> {};

TEST_P(LostFiles, NoneByASampleOfFailures) {
  const Scenario scenario = make_scenario(GetParam());
  Walk walk(scenario);
  for (const FaultPlan& plan : sample_of_faults(walk.quiet())) walk.inject(plan);
  for (const Variation& variation : every_nth(bad_inputs(scenario), 7)) walk.vary(variation);
  for (const Variation& variation : every_nth(bad_options(scenario), 40)) walk.vary(variation);
  fmt::print("{}: {}\n", scenario.name, walk.tally().to_string());
  EXPECT_GT(walk.tally().failures, 0);
  EXPECT_EQ(walk.tally().findings(), 0) << walk.findings();
}

INSTANTIATE_TEST_SUITE_P(Of, LostFiles, testing::ValuesIn(quick_scenario_names),
                         [](const auto& scenario) { return std::string(scenario.param); });

}  // namespace
}  // namespace qkv
