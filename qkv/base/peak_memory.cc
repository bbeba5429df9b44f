#include "qkv/base/peak_memory.h"

#include <fstream>
#include <limits>
#include <string>
#include <sys/resource.h>

namespace qkv {

// On Linux getrusage() begins with the peak of the program that started this one.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (int64_t kib = 0; name == "VmHWM:" && status >> kib) return 1024 * kib;
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

bool reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << 5 << std::flush);  // 5: of VmHWM, proc(5)
}

}  // namespace qkv
