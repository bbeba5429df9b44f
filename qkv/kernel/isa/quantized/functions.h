// The kernels of quantised weights of one instruction set.
#pragma once

#include "qkv/kernel/quantized_kernels.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

QuantizedKernels quantized_kernels();

// quantize.cc
void quantize(const float* x, int64_t count, int64_t depth, int group, int zero, int8_t* numbers, float* scales,
              int32_t* offsets, float* sums);

// unpack.cc
void unpack(const BlockLayout& layout, const uint8_t* blocks, int64_t count, const UnpackedChunk& to);

// product.cc
void multiply_int8(const Int8Product& product);
void multiply_blocks(const BlockLayout& layout, const BlockProduct& product);

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
