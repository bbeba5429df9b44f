// Ranks as threads of one process, for tests and examples of what is written for many processes.
//
//     run_ranks(4, [&](Communicator& c) {
//       std::vector<float> x(10, c.rank());
//       all_reduce(c, x);                       // 6 everywhere
//     });
//
// Messages are handed over without a copy in between: a rank that sends waits for the one that receives, so what waits for
// ever between processes does so here, and is an error that says who waits for whom.
// Errors  the first one of a rank: the others end with an error that names it, and run_ranks() throws it.
#pragma once

#include "qkv/base/communicator.h"
#include "qkv/base/threads.h"

namespace qkv {

void run_ranks(int ranks, FunctionRef<void(Communicator&)> body);

}  // namespace qkv
