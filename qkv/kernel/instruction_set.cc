#include "qkv/kernel/instruction_set.h"

#include "qkv/kernel/kernels.h"

namespace qkv {

std::string_view instruction_set() { return kernel::kernels().isa; }

}  // namespace qkv
