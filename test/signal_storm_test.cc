// A signal every 150 microseconds, whose handler writes to a page of the stack it finds, changes no bit of a
// training and none of a translation. On the instruction set that QKV_ISA names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/faults/command.h"
#include "test/faults/same_training.h"
#include "test/faults/scenario.h"

namespace qkv::signal_storm_test {

class SignalStorm : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"quiet", "storm"}) restore(work_.path() / name, small_corpus_files());
    const Outcome trained = run("quiet", training());
    if (trained.error.find("is not available here") != std::string::npos) GTEST_SKIP() << trained.error;
    ASSERT_TRUE(trained.succeeded()) << trained.error;
  }

  Outcome run(const std::string& folder, const Arguments& command) {
    const bool storm = folder == "storm";  // its timer replaces that of the time limit
    return run_command(command, {.folder = work_.path() / folder,
                                 .preload = storm ? QKV_SIGNAL_STORM_LIBRARY : "",
                                 .seconds = storm ? 0u : 120u});
  }

  // Large enough for every way of multiplying matrices.
  static Arguments training() {
    return with_flags(small_training("pairs.tsv", 60),
                      {"--d-model", "64", "--ffn", "128", "--encoder-layers", "2", "--batch-tokens", "400",
                       "--save-every", "20", "--valid-every", "20", "--report-every", "1"});
  }

  WorkFolder work_{"storm"};
};

TEST_F(SignalStorm, ChangesNoBitOfATraining) {
  const Outcome stormy = run("storm", training());
  ASSERT_TRUE(stormy.succeeded()) << "exit " << stormy.code << ", signal " << stormy.signal << ": " << stormy.error;
  EXPECT_EQ(training_difference(work_.path() / "quiet/model", work_.path() / "storm/model"), "");
}

TEST_F(SignalStorm, ChangesNoBitOfATranslation) {
  const Arguments translate = {"translate", "--model", "../quiet/model", "--input", "pairs.tsv", "--scores"};
  const Outcome quiet = run("quiet", translate), stormy = run("storm", translate);
  ASSERT_TRUE(quiet.succeeded()) << quiet.error;
  ASSERT_TRUE(stormy.succeeded()) << "exit " << stormy.code << ", signal " << stormy.signal << ": " << stormy.error;
  EXPECT_EQ(quiet.output, stormy.output);
}

}  // namespace qkv::signal_storm_test
