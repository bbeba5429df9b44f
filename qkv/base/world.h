// The processes of this job: those that mpirun started (or srun, or another launcher of MPI), or this one alone.
//
//     Communicator& c = world();
//     train(c);
//     leave_world();         // at the end of a process that succeeded
//
// mpirun -n 4 PROGRAM gives every process its rank. Without a launcher, or in a build without MPI (QKV_MPI=OFF),
// world() is one rank of one; a launcher that starts several processes of such a build is an error.
// Errors  a process that ends without leave_world(), for example because of an error, ends the whole job: the launcher
//         stops the others, which may wait for its messages.
#pragma once

#include "qkv/base/communicator.h"

namespace qkv {

// Joins the other processes at the first call.
Communicator& world();

// Waits for the other processes to leave too. Nothing happens if world() was never called.
void leave_world();

}  // namespace qkv
