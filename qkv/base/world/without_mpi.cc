// world() of a build without MPI.
#include "qkv/base/world.h"
#include "qkv/base/world/one_process.h"

namespace qkv {

Communicator& world() {
  static OneProcess process;
  return process;
}

void leave_world() {}

}  // namespace qkv
