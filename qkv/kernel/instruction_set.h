// The instruction set whose kernels run, chosen for this processor when the first of them is called, or by the
// environment variable QKV_ISA.
//
//     instruction_set()        // "avx512", of: generic, avx2, avx512, avx512_bf16, amx
#pragma once

#include <string_view>

namespace qkv {

std::string_view instruction_set();

}  // namespace qkv
