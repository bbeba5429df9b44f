// As lost_files_test.cc, with every call that can fail, every bad input, and every wrong option.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/faults/fault_list.h"
#include "test/faults/walk.h"

namespace qkv {
namespace {

class LostFiles : public testing::TestWithParam<const char*> {
 protected:
  static void TearDownTestSuite() { fmt::print("all: {}\n", total.to_string()); }

  void expect_nothing_lost(const Walk& walk) {
    total += walk.tally();
    fmt::print("{}: {}\n", GetParam(), walk.tally().to_string());
    EXPECT_GT(walk.tally().runs, 0);
    EXPECT_EQ(walk.tally().findings(), 0) << walk.findings();
  }

  static Tally total;
};
Tally LostFiles::total;

TEST_P(LostFiles, NoneByFailuresOfAnyCall) {
  const Scenario scenario = make_scenario(GetParam());
  Walk walk(scenario);
  for (const FaultPlan& plan : all_faults(walk.quiet(), scenario.slow ? 4 : 1000)) walk.inject(plan);
  expect_nothing_lost(walk);
}

TEST_P(LostFiles, NoneByAFullDisk) {
  const Scenario scenario = make_scenario(GetParam());
  Walk walk(scenario);
  for (const FaultPlan& plan : full_disks(walk.quiet(), scenario.slow ? 6 : 30)) walk.inject(plan);
  expect_nothing_lost(walk);
}

TEST_P(LostFiles, NoneByBadInput) {
  const Scenario scenario = make_scenario(GetParam());
  if (bad_inputs(scenario).empty()) GTEST_SKIP() << "it reads no file that a user has written";
  Walk walk(scenario);
  for (const Variation& variation : bad_inputs(scenario)) walk.vary(variation);
  expect_nothing_lost(walk);
}

TEST_P(LostFiles, NoneByWrongOptions) {
  const Scenario scenario = make_scenario(GetParam());
  Walk walk(scenario);
  for (const Variation& variation : every_nth(bad_options(scenario), scenario.slow ? 10 : 1)) walk.vary(variation);
  expect_nothing_lost(walk);
}

std::string name_of_scenario(const testing::TestParamInfo<const char*>& scenario) { return scenario.param; }

INSTANTIATE_TEST_SUITE_P(Of, LostFiles, testing::ValuesIn(quick_scenario_names), name_of_scenario);
INSTANTIATE_TEST_SUITE_P(OfSlow, LostFiles, testing::ValuesIn(slow_scenario_names), name_of_scenario);

}  // namespace
}  // namespace qkv
