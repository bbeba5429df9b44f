// How many processors this process may use: those of its affinity mask, and no more than the quota of its container.
//
//     const int n = available_processors();     // 2 in `docker run --cpus 2` and under `taskset -c 0,1`
//
// A quota is the processor time that a control group may take in a period: cpu.max of version 2, cpu.cfs_quota_us and
// cpu.cfs_period_us of version 1. Groups are nested, and the smallest quota of the process's own group and those around
// it counts, rounded up. A file that cannot be read sets no limit.
#pragma once

#include <filesystem>

namespace qkv {

// Where the system describes control groups.
struct ControlGroups {
  std::filesystem::path of_process = "/proc/self/cgroup";
  std::filesystem::path root = "/sys/fs/cgroup";
};

int available_processors(const ControlGroups& groups = {});  // at least 1

}  // namespace qkv
