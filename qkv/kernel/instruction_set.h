// The instruction set whose kernels run: the best one of this processor, chosen when the first kernel is called, or
// the one that the environment variable QKV_ISA names (a UsageError if this build or processor lacks it).
//
//     instruction_set()        // "avx512", of: generic, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx;
//                              // neon, neon_dotprod, neon_bf16
#pragma once

#include <string_view>

namespace qkv {

std::string_view instruction_set();

}  // namespace qkv
