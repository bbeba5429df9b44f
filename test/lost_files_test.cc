// Whatever command fails, at whatever point, every file that existed before keeps its bytes, unless the command is
// meant to replace it and the replacement is complete. This is a sample of the failures; lost_files_slow_test.cc has
// all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/faults/fault_list.h"
#include "test/faults/scenario_run.h"

namespace qkv::lost_files_test {

class LostFiles : public testing::TestWithParam<const char*> {};

TEST_P(LostFiles, ASampleOfFailuresLosesNoFile) {
  const Scenario scenario = make_scenario(GetParam());
  ScenarioRun run(scenario);
  for (const FaultPlan& plan : sample_of_faults(run.quiet())) run.inject(plan);
  for (const Variation& variation : every_nth(bad_inputs(scenario), 7)) run.vary(variation);
  for (const Variation& variation : every_nth(bad_options(scenario), 40)) run.vary(variation);
  fmt::print("{}: {}\n", scenario.name, run.tally().to_string());
  EXPECT_GT(run.tally().failures, 0);
  EXPECT_EQ(run.tally().findings(), 0) << run.findings();
}

INSTANTIATE_TEST_SUITE_P(Of, LostFiles, testing::ValuesIn(quick_scenario_names),
                         [](const auto& scenario) { return std::string(scenario.param); });

}  // namespace qkv::lost_files_test
