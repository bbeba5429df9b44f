// A training that is killed at random moments, and resumed each time, ends with the same bits as one that is not.
// The training is a process of its own: this program again, with other arguments.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/random.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/train/folder.h"
#include "qkv/train/training_test.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr const char* child_flag = "--train-in-this-process";

TrainOptions options_for(const fs::path& folder, const std::string& model) {
  TrainOptions o = small_training(folder / "pairs.tsv", folder / model);
  o.max_steps = 60;
  o.save_every = 3;
  o.valid_every = 5;
  o.average = 3;
  o.threads = 2;
  return o;
}

int train_in_child(const fs::path& folder, const std::string& model) {
  TrainOptions o = options_for(folder, model);
  if (model == "replaced") {
    // It replaces another model: until it does, that one is found, and there is nothing to resume.
    o.overwrite =
        !staged_training(o.model) && read_model(o.model).model->config().d_model() != o.architecture.d_model();
  }
  o.resume = !o.overwrite;
  try {
    return train(o).stop_reason == StopReason::interrupted ? 130 : 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

class KillResume : public ::testing::Test {
 protected:
  void SetUp() override {
    if (QKV_EMULATED) GTEST_SKIP() << "this program, of another processor, cannot start itself";
    folder_ = fs::path(::testing::TempDir()) / fmt::format("kill.{}", ::getpid());
    fs::create_directories(folder_);
    write_small_corpus(folder_ / "pairs.tsv", 300, 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  pid_t start(const std::string& model) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/proc/self/exe", "kill_resume_test", child_flag, folder_.c_str(), model.c_str(), nullptr);
      ::_exit(127);
    }
    return child;
  }
  // The exit code, or minus the signal.
  int wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void expect_same_weights(const std::string& a, const std::string& b) {
    expect_same_training(folder_ / a, folder_ / b);
  }

  fs::path folder_;
};

TEST_F(KillResume, TwentyKillsChangeNoBit) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(wait(start("whole")), 0);
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Random random(static_cast<uint64_t>(::getpid()));
  for (int killed = 0, tries = 0; killed < 20 && tries < 1000; ++tries) {
    const pid_t child = start("killed");
    ::usleep(static_cast<useconds_t>(1e6 * random.uniform(0, 0.5 * whole)));
    ::kill(child, SIGKILL);
    const int code = wait(child);
    ASSERT_TRUE(code == -SIGKILL || code == 0) << code;
    killed += code == -SIGKILL;
    if (code != 0) continue;
    // The end came before the signal: that run is held to the same, and another begins.
    expect_same_weights("whole", "killed");
    fs::remove_all(folder_ / "killed");
  }
  ASSERT_EQ(wait(start("killed")), 0);
  expect_same_weights("whole", "killed");
  EXPECT_EQ(log_without_times(folder_ / "whole"), log_without_times(folder_ / "killed"));
}

// Killed at any moment, an overwrite leaves the old model or the new one, whole, and ends with the same bits.
TEST_F(KillResume, AnOverwriteThatIsKilledLosesNeitherModel) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(wait(start("whole")), 0);
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  TrainOptions o = options_for(folder_, "before");
  o.architecture.transformer().d_model = 24;
  o.vocabulary_size = 9;
  o.max_steps = 5;
  train(o);
  const std::string before = read_file(folder_ / "before/model.safetensors");
  Random random(static_cast<uint64_t>(::getpid()));
  int old_models = 0, new_models = 0;  // that killed runs have left
  // How long a run takes depends on the machine's other work: until both were seen.
  for (int round = 0; round < 8 || (round < 60 && (old_models == 0 || new_models == 0)); ++round) {
    fs::remove_all(folder_ / "replaced");
    fs::copy(folder_ / "before", folder_ / "replaced", fs::copy_options::recursive);
    for (int killed = 0, code = 1; code != 0; ++killed) {
      const pid_t child = start("replaced");
      if (killed < 2) {
        ::usleep(static_cast<useconds_t>(1e6 * random.uniform(0, 0.4 * whole)));
        ::kill(child, SIGKILL);
      }
      code = wait(child);
      ASSERT_TRUE(code == -SIGKILL || code == 0) << code;
      const Translator translator(folder_ / "replaced");
      const bool is_old = translator.model().config().d_model() == 24;
      EXPECT_EQ(translator.source().size(), is_old ? 9 : 15);
      if (is_old) {
        EXPECT_TRUE(read_file(folder_ / "replaced/model.safetensors") == before);
      }
      if (code != 0) ++(is_old ? old_models : new_models);
    }
    expect_same_weights("whole", "replaced");
  }
  EXPECT_GT(old_models, 0);
  EXPECT_GT(new_models, 0);
}

TEST_F(KillResume, ASignalSavesAndTheRestIsTheSame) {
  ASSERT_EQ(wait(start("whole")), 0);
  int code = 130;
  for (int tries = 0; tries < 100 && code == 130; ++tries) {
    const pid_t child = start("stopped");
    // Before the training has started a signal ends the process.
    while (!fs::exists(folder_ / "stopped/training/log.jsonl")) ::usleep(1000);
    ::usleep(20'000);
    const int signal = tries % 2 ? SIGHUP : SIGTERM;
    ::kill(child, signal);
    code = wait(child);
    ASSERT_TRUE(code == 130 || code == 0 || code == -signal) << code;
    if (code == -signal) code = 130;
  }
  EXPECT_TRUE(fs::exists(folder_ / "stopped/model.safetensors"));
  if (code != 0) {
    ASSERT_EQ(wait(start("stopped")), 0);
  }
  expect_same_weights("whole", "stopped");
  EXPECT_EQ(log_without_times(folder_ / "whole"), log_without_times(folder_ / "stopped"));
}

}  // namespace
}  // namespace qkv

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == qkv::child_flag) return qkv::train_in_child(argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
