// What the multiply-add units of this machine reach, all threads together, in GFLOP/s: the limit that kernels are
// measured against.
#pragma once

namespace qkv::bench {

double peak_fp32();
double peak_bf16();  // 0 where the processor has no instructions for products of bf16

}  // namespace qkv::bench
