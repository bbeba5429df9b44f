// Products of int8: a scale for each row of activations and each column.
#include "qkv/kernel/isa/quantized/functions.h"
#include "qkv/kernel/isa/quantized/int8_tile.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

void multiply_int8(const Int8Product& p) { multiply_rows(p, 0); }

QuantizedKernels quantized_kernels() {
  return {.quantize = quantize, .multiply_int8 = multiply_int8, .blocks = block_kernels()};
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
