// The kernels of quantised weights of one instruction set.
#pragma once

#include "qkv/kernel/quantized_kernels.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

QuantizedKernels quantized_kernels();

// quantize.cc
void quantize(const float* x, int64_t count, int64_t depth, int group, int zero, int8_t* numbers, float* scales,
              int32_t* offsets, float* sums, int64_t group_stride);

// int8.cc
void multiply_int8(const Int8Product& product);

// blocks.cc
const BlockKernels* block_kernels();

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
