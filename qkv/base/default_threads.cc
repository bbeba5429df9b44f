#include "qkv/base/default_threads.h"

#include <algorithm>
#include <cstdlib>

namespace qkv {

int default_threads(FunctionRef<const char*(const char*)> variable, int processors) {
  const auto number = [&](const char* name) {
    const char* text = variable(name);
    return text ? std::atoi(text) : 0;
  };
  const int wanted = number("OMP_NUM_THREADS");
  const int ranks = variable("TORCHELASTIC_RUN_ID") ? number("LOCAL_WORLD_SIZE") : 1;
  if (wanted == 1 && ranks > 1) return std::max(1, processors / ranks);
  return wanted >= 1 && wanted <= max_threads() ? wanted : processors;
}

}  // namespace qkv
