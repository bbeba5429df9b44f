#include "qkv/base/processors.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <thread>

namespace qkv {
namespace {

namespace fs = std::filesystem;

int processors_of_affinity() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // of more processors than a cpu_set_t holds
}

// The number at the beginning of a stream; none where it says "max" or -1.
std::optional<double> positive(std::istream& stream) {
  double number = 0;
  return stream >> number && number > 0 ? std::optional(number) : std::nullopt;
}

// In processors; none without a limit.
std::optional<double> quota_of(const fs::path& group) {
  std::ifstream max(group / "cpu.max");
  std::ifstream of_quota(group / "cpu.cfs_quota_us"), of_period(group / "cpu.cfs_period_us");
  const bool second = max.is_open();
  const std::optional<double> quota = positive(second ? max : of_quota);
  if (!quota) return {};
  const std::optional<double> period = positive(second ? max : of_period);
  return period ? std::optional(*quota / *period) : std::nullopt;
}

// The smallest quota of a group of this path and of those around it. A container may see its own group as the root, and
// its path from outside: then the groups of the path do not exist.
std::optional<double> smallest_quota(const fs::path& root, const fs::path& path) {
  std::optional<double> smallest = quota_of(root);
  fs::path group = root;
  for (const fs::path& part : path.relative_path()) {
    if (part == "..") break;
    group /= part;
    if (const auto quota = quota_of(group)) smallest = std::min(smallest.value_or(*quota), *quota);
  }
  return smallest;
}

// The folders of the hierarchies that limit processors: "0::/a/b" of version 2, "3:cpu,cpuacct:/a/b" of version 1.
std::optional<double> quota_of_process(const ControlGroups& groups) {
  std::ifstream file(groups.of_process);
  std::optional<double> smallest;
  const auto take = [&](const fs::path& root, const std::string& path) {
    if (const auto quota = smallest_quota(root, path)) smallest = std::min(smallest.value_or(*quota), *quota);
  };
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      take(groups.root, path);
      take(groups.root / "unified", path);
      continue;
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name == "cpu") {
        take(groups.root / controllers, path);
        take(groups.root / name, path);
      }
  }
  return smallest;
}

}  // namespace

int available_processors(const ControlGroups& groups) {
  int processors = processors_of_affinity();
  if (const std::optional<double> quota = quota_of_process(groups))
    processors = static_cast<int>(std::min<double>(processors, std::ceil(*quota)));
  return std::max(1, processors);
}

}  // namespace qkv
