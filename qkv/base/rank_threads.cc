#include "qkv/base/rank_threads.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sched.h>
#include <unistd.h>
#include <vector>

#include "qkv/base/collectives.h"
#include "qkv/base/processors.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

struct Place {
  std::array<char, 256> machine = {};
  cpu_set_t processors;

  bool shares(const Place& other) const {
    cpu_set_t both;
    CPU_AND(&both, &processors, &other.processors);
    return machine == other.machine && CPU_COUNT(&both) > 0;
  }
};

Place own_place() {
  Place place;
  ::gethostname(place.machine.data(), place.machine.size() - 1);
  CPU_ZERO(&place.processors);
  if (::sched_getaffinity(0, sizeof place.processors, &place.processors) != 0) CPU_SET(0, &place.processors);
  return place;
}

}  // namespace

int rank_threads(Communicator& c) {
  const Place mine = own_place();
  int sharing = 0;
  for (const std::vector<std::byte>& bytes : all_gather_bytes(c, bytes_of(std::span(&mine, 1)))) {
    Place other = mine;
    std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof other),
                writable_bytes_of(std::span(&other, 1)).begin());
    if (mine.shares(other)) ++sharing;
  }
  if (std::getenv("OMP_NUM_THREADS")) return threads();
  return std::clamp(available_processors() / std::max(1, sharing), 1, max_threads());
}

}  // namespace qkv
