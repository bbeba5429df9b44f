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
#ifdef QKV_HAS_AVX512_BF16
namespace avx512_bf16 {
const PairKernels& pair_kernels();
const Kernels& table() {
  static const Kernels all = [] {
    Kernels k = avx512::table();
    k.isa = "avx512_bf16";
    k.attention.pairs = &pair_kernels();
    return k;
  }();
  return all;
}
}  // namespace avx512_bf16
#endif

bool cpu_has(std::string_view isa) {
  if (isa == "generic") return true;
#if defined(__x86_64__)
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (isa == "avx512_bf16") return cpu_has("avx512") && __builtin_cpu_supports("avx512bf16");
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
#ifdef QKV_HAS_AVX512_BF16
        &avx512_bf16::table(),
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
