#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

#define QKV_TO_STRING_(x) #x
#define QKV_TO_STRING(x) QKV_TO_STRING_(x)

namespace qkv::kernel::QKV_ISA_NAMESPACE {

const Kernels& table() {
  static constexpr Kernels all = {
      .isa = QKV_TO_STRING(QKV_ISA_NAMESPACE),
      .lanes = lanes,
      .rows = {.softmax = softmax},
      .attention = {},
  };
  return all;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
