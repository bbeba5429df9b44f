// What the sources of this folder give one another. An instruction set with products of bf16 is a full set and
// these: pack.cc, and either product_avx512.cc or product_amx.cc.
#pragma once

#include "qkv/kernel/attention_kernels.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

TileProducts pair_products();
extern const bool columns_as_rows;  // of the products: see PairKernels

const PairKernels& pair_kernels();

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
