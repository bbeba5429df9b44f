// The kernels, chosen once for this CPU: kernels().rows.relu(...) uses the best instruction set (ISA) that was
// compiled in and that the CPU has. QKV_ISA=avx512 in the environment pins one of instruction_set_names; it is an error
// if the CPU does not have it. avx512_vnni is for processors without bf16: the two sets after it have its products of
// bytes too.
//
// The kernels in isa/ use no tensors, threads or exceptions: they work on one piece of memory. Callers, such as
// matmul.h, cut the work into pieces (base/threads.h); the bits of an element do not depend on the cut.
//
// Kernels of floats give the same bits on avx2 and all sets after it: sums across lanes are made of partial sums whose
// number does not depend on the SIMD width (isa/rows.h), and nothing uses an instruction that only estimates. generic
// has no fused multiply-add on x86-64, so its results differ in the last bits. So do products of bf16: the order of
// their sums is that of the instructions of avx512_bf16, of amx and of neon_bf16. Single queries read bf16 as floats, with the same
// bits on avx2 and all sets after it. Products by quantised weights have the same bits everywhere, on generic too. The
// sets of aarch64 have the bits of avx2 (script/test-aarch64).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qkv/kernel/attention_kernels.h"
#include "qkv/kernel/matmul_kernels.h"
#include "qkv/kernel/multi_token_kernels.h"
#include "qkv/kernel/quantized_kernels.h"
#include "qkv/kernel/row_kernels.h"

namespace qkv::kernel {

struct Kernels {
  std::string_view isa;
  int lanes;  // floats in a vector: the SIMD width
  RowKernels rows;
  AttentionKernels attention;
  MultiTokenKernels multi_token;
  MatmulKernels matmul;
  QuantizedKernels quantized;
};

// Of this kind of processor.
#if defined(__aarch64__)
inline constexpr std::string_view instruction_set_names[] = {"generic", "neon", "neon_dotprod", "neon_bf16"};
#else
inline constexpr std::string_view instruction_set_names[] = {"generic",     "avx2",        "avx2_vnni", "avx512",
                                                             "avx512_vnni", "avx512_bf16", "amx"};
#endif

const Kernels& kernels();                       // of the chosen instruction set
std::span<const Kernels* const> all_kernels();  // of every set compiled in that this CPU has, the slowest first

// Replaces the kernels of the whole process while it is in scope: tests and benchmarks compare instruction sets.
class UseKernels {
 public:
  explicit UseKernels(const Kernels& kernels);
  ~UseKernels();
  UseKernels(const UseKernels&) = delete;
  UseKernels& operator=(const UseKernels&) = delete;

 private:
  const Kernels* before_;
};

// While it is in scope, its thread treats denormal floats (below 1.2e-38) as zero. Small attention weights pass
// through them, and some processors need a hundred times as long for each.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  uint64_t before_;
};

bool cpu_has(std::string_view isa);

}  // namespace qkv::kernel
