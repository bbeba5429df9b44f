// What the multiply-add units of this machine reach on numbers in registers, all threads together, in GFLOP/s: the limit that
// kernels are measured against. A product of integers counts as one of floats: two for a multiply-add.
#pragma once

namespace qkv::kernel {

double peak_f32();
double peak_bf16();  // 0 where the processor has no instructions for products of bf16
double peak_int8();  // 0 where it multiplies no bytes
// Of bytes and numbers of less than 8 bits. Without VNNI, sums of several of their products fit 16 bits, which is faster.
double peak_narrow();

}  // namespace qkv::kernel
