// The fast loops, chosen once for the machine at hand: kernels().relu(...) runs the best instruction set that was
// compiled in and that the CPU has. QKV_ISA=generic|avx2|avx512|avx512_bf16|amx in the environment pins one (an
// error if it cannot run).
//
// Kernels know nothing of tensors, threads or exceptions: they work on one piece of memory and return. Callers cut
// the work into pieces (base/threads.h), and whatever the cut, an element gets the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qkv/kernel/attention_kernels.h"
#include "qkv/kernel/matmul_kernels.h"
#include "qkv/kernel/multi_token_kernels.h"
#include "qkv/kernel/row_kernels.h"

namespace qkv::kernel {

struct Kernels {
  std::string_view isa;
  int lanes;  // floats in a vector
  RowKernels rows;
  AttentionKernels attention;
  MultiTokenKernels multi_token;
  MatmulKernels matmul;
};

const Kernels& kernels();                       // the chosen ones
std::span<const Kernels* const> all_kernels();  // every set compiled in that this CPU can run, the plainest first

// Other kernels for everybody while one lives: how tests and benchmarks compare sets in one process.
class UseKernels {
 public:
  explicit UseKernels(const Kernels& kernels);
  ~UseKernels();
  UseKernels(const UseKernels&) = delete;
  UseKernels& operator=(const UseKernels&) = delete;

 private:
  const Kernels* before_;
};

// While one lives, its thread takes numbers too small for a normal float (below 1.2e-38) for zero. Weights that
// fade away pass through them, and some processors need a hundred times as long for each.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  uint64_t before_;
};

// The instruction sets of the CPU, best last: what QKV_ISA accepts here.
bool cpu_has(std::string_view isa);

}  // namespace qkv::kernel
