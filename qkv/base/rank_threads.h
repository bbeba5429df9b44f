// How many threads a rank should use: its processors, divided among the ranks of the machine that may use them too.
//
//     if (threads_were_not_given) set_threads(rank_threads(world()));
//
// mpirun may bind every rank to processors of its own, or none at all: 8 ranks that may all use 32 processors get 4 threads
// each, and so do 8 ranks bound to 4 processors each. OMP_NUM_THREADS is taken as it is.
#pragma once

#include "qkv/base/communicator.h"

namespace qkv {

// Every rank calls it.
int rank_threads(Communicator& c);

}  // namespace qkv
