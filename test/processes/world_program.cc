// world() between processes: `ctest` runs this program under mpirun with several ranks, and as it is with one.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/base/world.h"

namespace {

using namespace qkv;

void check_ring(Communicator& c) {
  // More than the system buffers, in both directions at the same time.
  std::vector<int64_t> mine(1 << 20, c.rank()), received(mine.size());
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  c.exchange(next, bytes_of(mine), previous, writable_bytes_of(received));
  require(received == std::vector<int64_t>(mine.size(), previous), "ring", "rank {} got other numbers", c.rank());
}

void check_sums(Communicator& c) {
  std::vector<float> x(1001, static_cast<float>(c.rank() + 1));
  all_reduce(c, x);
  const auto sum = static_cast<float>(c.size() * (c.size() + 1) / 2);
  require(x == std::vector<float>(x.size(), sum), "sums", "rank {} got other sums", c.rank());
}

void check_broadcast(Communicator& c) {
  for (int root = 0; root < c.size(); ++root) {
    int x = c.rank() == root ? 7 + root : 0;
    c.broadcast(root, writable_bytes_of(std::span(&x, 1)));
    require(x == 7 + root, "broadcast", "rank {} got {}", c.rank(), x);
  }
}

// A message of more than 2^31 bytes: `world_test long`, which no test runs, because it takes 4.5 GB.
void check_long_message(Communicator& c) {
  std::vector<unsigned char> bytes((size_t{1} << 31) + 17);
  if (c.rank() == 0)
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 251);
  if (c.rank() == 0) c.send(1, bytes_of(bytes));
  if (c.rank() != 1) return;
  c.receive(0, writable_bytes_of(bytes));
  for (size_t i = 0; i < bytes.size(); ++i)
    require(bytes[i] == i % 251, "long message", "byte {} is {}", i, static_cast<int>(bytes[i]));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Communicator& c = world();
    if (argc > 1 && std::strcmp(argv[1], "fail") == 0 && c.rank() == c.size() - 1)
      fail("world_test", "rank {} fails on request", c.rank());
    if (argc > 1 && std::strcmp(argv[1], "long") == 0) check_long_message(c);
    check_ring(c);
    check_sums(c);
    check_broadcast(c);
    c.barrier();
    if (c.rank() == 0) std::printf("all checks passed on %d ranks\n", c.size());
    leave_world();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
