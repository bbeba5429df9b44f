// The kernels of one instruction set, as table.cc collects them.
#pragma once

#include <stdint.h>

#include "qkv/kernel/kernels.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// softmax.cc
float softmax(const float* x, int64_t n, float* y);

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
