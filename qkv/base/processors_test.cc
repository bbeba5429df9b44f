#include "qkv/base/processors.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/test_support/scratch_folder.h"

namespace qkv::processors_test {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;

// With the affinity of the test, where its control groups are these files.
int processors_with(const std::string& of_process, const Files& files) {
  const test::ScratchFolder folder;
  const ControlGroups groups = {.of_process = folder.path() / "self", .root = folder.path() / "root"};
  std::ofstream(groups.of_process) << of_process;
  for (const auto& [name, text] : files) {
    fs::create_directories((groups.root / name).parent_path());
    std::ofstream(groups.root / name) << text << "\n";
  }
  return available_processors(groups);
}

int unlimited() { return processors_with("", {}); }

TEST(Processors, AreThoseOfTheAffinityMaskWithoutAQuota) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(unlimited(), CPU_COUNT(&before));
  EXPECT_EQ(processors_with("0::/a\n", {{"a/cpu.max", "max 100000"}, {"cpu.max", "max 100000"}}), unlimited());
  EXPECT_EQ(
      processors_with("2:cpu:/a\n", {{"cpu/a/cpu.cfs_quota_us", "-1"}, {"cpu/a/cpu.cfs_period_us", "100000"}}),
      unlimited());
  for (const char* nonsense : {"", "x", "100000", "100000 0", "-5 100000", "0 100000"})
    EXPECT_EQ(processors_with("0::/\n", {{"cpu.max", nonsense}}), unlimited()) << nonsense;
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const int with_one = unlimited();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(with_one, 1);
}

TEST(Processors, FollowTheSmallestQuotaOfTheGroupsAroundTheProcess) {
  const std::string two = "0::/pod/container\n";
  EXPECT_EQ(processors_with(two, {{"pod/container/cpu.max", "100000 100000"}}), 1);
  EXPECT_EQ(processors_with(two, {{"pod/container/cpu.max", "max 100000"}, {"pod/cpu.max", "20000 100000"}}), 1);
  EXPECT_EQ(processors_with(two, {{"pod/container/cpu.max", "900000 100000"}, {"cpu.max", "50000 50000"}}), 1);
  EXPECT_EQ(processors_with("0::/../outside\n", {{"cpu.max", "100000 100000"}}), 1);
  EXPECT_EQ(processors_with(two, {{"other/cpu.max", "100000 100000"}}), unlimited());

  const std::string one = "11:memory:/box\n4:cpu,cpuacct:/docker/box\n1:name=systemd:/\n";
  const auto limit = [](const std::string& folder, const std::string& quota) {
    return Files{{folder + "cpu.cfs_quota_us", quota}, {folder + "cpu.cfs_period_us", "50000"}};
  };
  for (const std::string folder : {"cpu,cpuacct/docker/box/", "cpu/docker/box/", "cpu/docker/", "cpu,cpuacct/"})
    EXPECT_EQ(processors_with(one, limit(folder, "50000")), 1) << folder;
  EXPECT_EQ(processors_with(one, limit("memory/box/", "50000")), unlimited());
}

TEST(Processors, OfAQuotaAreRoundedUpAndNoMoreThanThereAre) {
  const auto with = [](const std::string& max) { return processors_with("0::/\n", {{"cpu.max", max}}); };
  EXPECT_EQ(with("1000 100000"), 1);
  EXPECT_EQ(with("150000 100000"), std::min(2, unlimited()));
  EXPECT_EQ(with("900000000 100000"), unlimited());
}

}  // namespace qkv::processors_test
