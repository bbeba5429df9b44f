#include "qkv/base/peak_memory.h"

#include <sys/resource.h>

namespace qkv {

int64_t peak_memory() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

}  // namespace qkv
