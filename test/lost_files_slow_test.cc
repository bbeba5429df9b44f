// As lost_files_test.cc, with every call that can fail, every bad input, and every wrong option.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/faults/fault_list.h"
#include "test/faults/scenario_run.h"

namespace qkv::lost_files_slow_test {

class LostFiles : public testing::TestWithParam<const char*> {
 protected:
  static void TearDownTestSuite() { fmt::print("all: {}\n", total.to_string()); }

  void expect_nothing_lost(const ScenarioRun& run) {
    total += run.tally();
    fmt::print("{}: {}\n", GetParam(), run.tally().to_string());
    EXPECT_GT(run.tally().runs, 0);
    EXPECT_EQ(run.tally().findings(), 0) << run.findings();
  }

  static Tally total;
};
Tally LostFiles::total;

TEST_P(LostFiles, AFailureOfAnyCallLosesNoFile) {
  const Scenario scenario = make_scenario(GetParam());
  ScenarioRun run(scenario);
  for (const FaultPlan& plan : all_faults(run.quiet(), scenario.slow ? 4 : 1000)) run.inject(plan);
  expect_nothing_lost(run);
}

TEST_P(LostFiles, AFullDiskLosesNoFile) {
  const Scenario scenario = make_scenario(GetParam());
  ScenarioRun run(scenario);
  for (const FaultPlan& plan : full_disks(run.quiet(), scenario.slow ? 6 : 30)) run.inject(plan);
  expect_nothing_lost(run);
}

TEST_P(LostFiles, BadInputLosesNoFile) {
  const Scenario scenario = make_scenario(GetParam());
  if (bad_inputs(scenario).empty()) GTEST_SKIP() << "it reads no file that a user has written";
  ScenarioRun run(scenario);
  for (const Variation& variation : bad_inputs(scenario)) run.vary(variation);
  expect_nothing_lost(run);
}

TEST_P(LostFiles, WrongOptionsLoseNoFile) {
  const Scenario scenario = make_scenario(GetParam());
  ScenarioRun run(scenario);
  for (const Variation& variation : every_nth(bad_options(scenario), scenario.slow ? 10 : 1)) run.vary(variation);
  expect_nothing_lost(run);
}

std::string name_of_scenario(const testing::TestParamInfo<const char*>& scenario) { return scenario.param; }

INSTANTIATE_TEST_SUITE_P(Of, LostFiles, testing::ValuesIn(quick_scenario_names), name_of_scenario);
INSTANTIATE_TEST_SUITE_P(OfSlow, LostFiles, testing::ValuesIn(slow_scenario_names), name_of_scenario);

}  // namespace qkv::lost_files_slow_test
