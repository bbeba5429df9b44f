// world() of a build without MPI.
#include <cstdlib>

#include "qkv/base/world.h"
#include "qkv/base/world/one_process.h"

namespace qkv {

// Several processes that each take themselves for the only one would do the same work, and write the same files.
Communicator& world() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    require(!size || std::atoi(size) <= 1, "world",
            "a launcher of MPI has started {} processes, but this program was built without MPI", size ? size : "");
  }
  static OneProcess process;
  return process;
}

void leave_world() {}

}  // namespace qkv
