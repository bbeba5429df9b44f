// How many threads a process begins with: OMP_NUM_THREADS, else all of its processors.
//
//     default_threads(std::getenv, available_processors())
//
// torchrun gives each of its processes OMP_NUM_THREADS=1 where that is not set, because it does not know what they
// compute. There (TORCHELASTIC_RUN_ID is set, and LOCAL_WORLD_SIZE is how many they are) 1 is taken for that, and a process
// has its share of the processors, rounded down; set_threads(1) asks for one. Other numbers are taken as they are.
#pragma once

#include "qkv/base/threads.h"

namespace qkv {

int default_threads(FunctionRef<const char*(const char*)> variable, int processors);

}  // namespace qkv
