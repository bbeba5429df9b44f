// The functions of this folder. An instruction set with products of bf16 is avx512 or neon and these sources: pack.cc,
// softmax.cc and one of product_avx512.cc, product_amx.cc and product_neon.cc.
#pragma once

#include "qkv/kernel/attention_kernels.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

void begin_products();
void end_products();
TileProducts bf16_products();
extern const bool columns_as_rows;  // see Bf16Kernels

// softmax.cc
void softmax_step_to_bf16(const float* s, int64_t keys, int64_t width, float scale, RunningSoftmax running,
                          float* columns);
void weights_to_bf16(float* s, int64_t keys, int64_t width, float scale, const float* maximum,
                     const float* inverse_sum, uint16_t* rows);
void softmax_backward_to_bf16(const float* weights, const float* grad, int64_t keys, int64_t width,
                              const float* delta, uint16_t* rows, float* columns);

const Bf16Kernels& bf16_kernels();

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
