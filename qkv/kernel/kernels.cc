#include "qkv/kernel/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/ranges.h>

#include "qkv/base/error.h"

namespace qkv::kernel {

#ifdef QKV_HAS_GENERIC
namespace generic {
const Kernels& table();
}
#endif
#ifdef QKV_HAS_AVX2
namespace avx2 {
const Kernels& table();
}
#endif
#ifdef QKV_HAS_AVX512
namespace avx512 {
const Kernels& table();
}
#endif

bool cpu_has(std::string_view isa) {
  if (isa == "generic") return true;
#if defined(__x86_64__)
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
  return false;
}

std::span<const Kernels* const> all_kernels() {
  static const std::vector<const Kernels*> usable = [] {
    const std::vector<const Kernels*> compiled = {
#ifdef QKV_HAS_GENERIC
        &generic::table(),
#endif
#ifdef QKV_HAS_AVX2
        &avx2::table(),
#endif
#ifdef QKV_HAS_AVX512
        &avx512::table(),
#endif
    };
    std::vector<const Kernels*> out;
    std::copy_if(compiled.begin(), compiled.end(), std::back_inserter(out),
                 [](const Kernels* k) { return cpu_has(k->isa); });
    require(!out.empty(), "kernels", "this build has no kernels for this CPU");
    return out;
  }();
  return usable;
}

const Kernels& kernels() {
  static const Kernels* const chosen = []() -> const Kernels* {
    const char* pinned = std::getenv("QKV_ISA");
    if (pinned == nullptr || *pinned == 0) return all_kernels().back();
    std::vector<std::string_view> names;
    for (const Kernels* k : all_kernels()) {
      if (k->isa == pinned) return k;
      names.push_back(k->isa);
    }
    fail<UsageError>("QKV_ISA", "'{}' is not available here; choose one of: {}", pinned, fmt::join(names, ", "));
  }();
  return *chosen;
}

}  // namespace qkv::kernel
