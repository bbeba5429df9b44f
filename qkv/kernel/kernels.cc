#include "qkv/kernel/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include <fmt/core.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

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
#ifdef QKV_HAS_AVX2_VNNI
namespace avx2_vnni {
QuantizedKernels quantized_kernels();
}
#endif
#ifdef QKV_HAS_AVX512
namespace avx512 {
const Kernels& table();
}
#endif
#ifdef QKV_HAS_AVX512_VNNI
namespace avx512_vnni {
QuantizedKernels quantized_kernels();
}
#endif
#ifdef QKV_HAS_AVX512_BF16
namespace avx512_bf16 {
const Bf16Kernels& bf16_kernels();
}
#endif
#ifdef QKV_HAS_AMX
namespace amx {
const Bf16Kernels& bf16_kernels();
void multiply_int8(const Int8Product& product);
}  // namespace amx
#endif
#ifdef QKV_HAS_NEON
namespace neon {
const Kernels& table();
}
#endif
#ifdef QKV_HAS_NEON_DOTPROD
namespace neon_dotprod {
QuantizedKernels quantized_kernels();
}
#endif
#ifdef QKV_HAS_NEON_BF16
namespace neon_bf16 {
QuantizedKernels quantized_kernels();
const Bf16Kernels& bf16_kernels();
}  // namespace neon_bf16
#endif

namespace {

// A set that differs from another in products of bytes, and in those of bf16 unless null.
[[maybe_unused]] Kernels extended(const Kernels& set, std::string_view isa, const QuantizedKernels& quantized,
                                  const Bf16Kernels* bf16 = nullptr) {
  Kernels kernels = set;
  kernels.isa = isa;
  kernels.quantized = quantized;
  kernels.attention.bf16 = bf16;
  return kernels;
}

#ifdef QKV_HAS_AMX
QuantizedKernels quantized_kernels_of_amx() {
  QuantizedKernels kernels = avx512_vnni::quantized_kernels();
  kernels.multiply_int8 = amx::multiply_int8;
  return kernels;
}
#endif

#if defined(__x86_64__) && defined(__linux__)
// The CPU has products of tiles, and the system lets this process use them: Linux saves their 8 KiB per thread only
// after a request.
bool may_use_amx() {
  static const bool may = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned needed = 1u << 22 | 1u << 24 | 1u << 25;  // of bf16, tiles at all, of int8
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & needed) != needed) return false;
    constexpr long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return may;
}
#elif defined(__x86_64__)
bool may_use_amx() { return false; }
#endif

#if defined(__aarch64__) && defined(__linux__)
bool has_dot_products() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
bool has_matrix_products() {  // of bytes and of bf16
  constexpr unsigned long needed = 1ul << 13 | 1ul << 14;
  return (getauxval(AT_HWCAP2) & needed) == needed;
}
#elif defined(__aarch64__) && defined(__APPLE__)
bool has_dot_products() { return true; }  // of every one of them
bool has_matrix_products() {
  const auto has = [](const char* feature) {
    int value = 0;
    size_t size = sizeof(value);
    return sysctlbyname(feature, &value, &size, nullptr, 0) == 0 && value != 0;
  };
  return has("hw.optional.arm.FEAT_I8MM") && has("hw.optional.arm.FEAT_BF16");
}
#elif defined(__aarch64__)
bool has_dot_products() { return false; }
bool has_matrix_products() { return false; }
#endif

#if defined(__x86_64__)
bool has_avx_vnni() {  // not among the names that all compilers know
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4) != 0;
}
#endif

}  // namespace

bool cpu_has(std::string_view isa) {
  if (isa == "generic") return true;
#if defined(__x86_64__)
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx2_vnni") return cpu_has("avx2") && has_avx_vnni();
  if (isa == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (isa == "amx") return cpu_has("avx512_bf16") && may_use_amx();
  if (isa == "avx512_vnni") return cpu_has("avx512") && __builtin_cpu_supports("avx512vnni");
  if (isa == "avx512_bf16") return cpu_has("avx512_vnni") && __builtin_cpu_supports("avx512bf16");
#elif defined(__aarch64__)
  if (isa == "neon") return true;
  if (isa == "neon_dotprod") return has_dot_products();
  if (isa == "neon_bf16") return has_dot_products() && has_matrix_products();
#endif
  return false;
}

std::span<const Kernels* const> all_kernels() {
  static const std::vector<const Kernels*> usable = [] {
#ifdef QKV_HAS_AVX2_VNNI
    static const Kernels avx2_with_vnni = extended(avx2::table(), "avx2_vnni", avx2_vnni::quantized_kernels());
#endif
#ifdef QKV_HAS_AVX512_VNNI
    static const Kernels avx512_with_vnni =
        extended(avx512::table(), "avx512_vnni", avx512_vnni::quantized_kernels());
#endif
#ifdef QKV_HAS_AVX512_BF16
    static const Kernels avx512_with_bf16 =
        extended(avx512::table(), "avx512_bf16", avx512_vnni::quantized_kernels(), &avx512_bf16::bf16_kernels());
#endif
#ifdef QKV_HAS_AMX
    static const Kernels avx512_with_amx =
        extended(avx512::table(), "amx", quantized_kernels_of_amx(), &amx::bf16_kernels());
#endif
#ifdef QKV_HAS_NEON_DOTPROD
    static const Kernels neon_with_dotprod =
        extended(neon::table(), "neon_dotprod", neon_dotprod::quantized_kernels());
#endif
#ifdef QKV_HAS_NEON_BF16
    static const Kernels neon_with_bf16 =
        extended(neon::table(), "neon_bf16", neon_bf16::quantized_kernels(), &neon_bf16::bf16_kernels());
#endif
    const std::vector<const Kernels*> compiled = {
#ifdef QKV_HAS_GENERIC
        &generic::table(),
#endif
#ifdef QKV_HAS_AVX2
        &avx2::table(),
#endif
#ifdef QKV_HAS_AVX2_VNNI
        &avx2_with_vnni,
#endif
#ifdef QKV_HAS_AVX512
        &avx512::table(),
#endif
#ifdef QKV_HAS_AVX512_VNNI
        &avx512_with_vnni,
#endif
#ifdef QKV_HAS_AVX512_BF16
        &avx512_with_bf16,
#endif
#ifdef QKV_HAS_AMX
        &avx512_with_amx,
#endif
#ifdef QKV_HAS_NEON
        &neon::table(),
#endif
#ifdef QKV_HAS_NEON_DOTPROD
        &neon_with_dotprod,
#endif
#ifdef QKV_HAS_NEON_BF16
        &neon_with_bf16,
#endif
    };
    std::vector<const Kernels*> out;
    const bool has_bf16 = cpu_has("avx512_bf16");
    std::copy_if(compiled.begin(), compiled.end(), std::back_inserter(out),
                 [&](const Kernels* k) { return cpu_has(k->isa) && !(has_bf16 && k->isa == "avx512_vnni"); });
    require(!out.empty(), "kernels", "this build has no kernels for this CPU");
    return out;
  }();
  return usable;
}

namespace {

const Kernels* choose() {
  const char* pinned = std::getenv("QKV_ISA");
  if (pinned == nullptr || *pinned == 0) return all_kernels().back();
  std::vector<std::string_view> names;
  for (const Kernels* k : all_kernels()) {
    if (k->isa == pinned) return k;
    names.push_back(k->isa);
  }
  fail<UsageError>("QKV_ISA", "'{}' is not available here; choose one of: {}", pinned, name_list(names));
}

std::atomic<const Kernels*>& current() {
  static std::atomic<const Kernels*> kernels{choose()};
  return kernels;
}

}  // namespace

const Kernels& kernels() { return *current().load(std::memory_order_relaxed); }

#if defined(__x86_64__)
FlushDenormals::FlushDenormals() : before_(_mm_getcsr()) {
  constexpr unsigned results = 1u << 15, operands = 1u << 6;
  _mm_setcsr(static_cast<unsigned>(before_) | results | operands);
}
FlushDenormals::~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(before_)); }
#elif defined(__aarch64__)
FlushDenormals::FlushDenormals() {
  asm volatile("mrs %0, fpcr" : "=r"(before_));
  asm volatile("msr fpcr, %0" : : "r"(before_ | uint64_t{1} << 24));
}
FlushDenormals::~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
FlushDenormals::FlushDenormals() : before_(0) {}
FlushDenormals::~FlushDenormals() = default;
#endif

UseKernels::UseKernels(const Kernels& kernels) : before_(current().exchange(&kernels)) {}
UseKernels::~UseKernels() { current().store(before_); }

}  // namespace qkv::kernel
