// world() of a build with MPI.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mpi.h>
#include <string>
#include <thread>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/world.h"
#include "qkv/base/world/one_process.h"

namespace qkv {
namespace {

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  fail("exchange", "{}: {}", call, std::string(text.data(), static_cast<size_t>(length)));
}

class MpiRank final : public Communicator {
 public:
  MpiRank() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    require(provided >= MPI_THREAD_SERIALIZED, "world", "MPI must support calls of several threads, one at a time");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

 private:
  // MPI counts in int: longer messages are sent in parts, which arrive in order.
  static constexpr size_t part_size = size_t{1} << 30;

  void transfer(int to, Bytes sent, int from, MutableBytes received) override {
    std::vector<MPI_Request> requests;
    const auto parts = [&](size_t bytes, auto start) {
      for (size_t at = 0; at == 0 || at < bytes; at += part_size) {
        requests.push_back(MPI_REQUEST_NULL);
        start(at, static_cast<int>(std::min(part_size, bytes - at)), &requests.back());
      }
    };
    if (from != no_rank)
      parts(received.size(), [&](size_t at, int n, MPI_Request* request) {
        check(MPI_Irecv(received.data() + at, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, request), "MPI_Irecv");
      });
    const size_t receives = requests.size();
    if (to != no_rank)
      parts(sent.size(), [&](size_t at, int n, MPI_Request* request) {
        check(MPI_Isend(sent.data() + at, n, MPI_BYTE, to, 0, MPI_COMM_WORLD, request), "MPI_Isend");
      });
    const std::vector<MPI_Status> ended = wait(requests);
    size_t arrived = 0;
    for (size_t i = 0; i < receives; ++i) {
      int bytes = 0;
      check(MPI_Get_count(&ended[i], MPI_BYTE, &bytes), "MPI_Get_count");
      arrived += static_cast<size_t>(bytes);
    }
    require(from == no_rank || arrived == received.size(), "exchange",
            "rank {} sends {} bytes to rank {}, which expects {}", from, arrived, rank_, received.size());
  }

  // Most implementations of MPI_Wait() keep a core busy, which other threads of this process could use (train/exchange_thread.h).
  static std::vector<MPI_Status> wait(std::vector<MPI_Request>& requests) {
    using Clock = std::chrono::steady_clock;
    constexpr auto patience = std::chrono::microseconds(50);
    std::vector<MPI_Status> ended(requests.size());
    const auto began = Clock::now();
    for (;;) {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, ended.data()), "MPI_Testall");
      if (done) return ended;
      if (Clock::now() - began > patience) std::this_thread::sleep_for(patience);
    }
  }

  int rank_ = 0, size_ = 1;
};

// A launcher tells a process its place by the environment. Without one MPI is not started: that would cost a program that
// runs alone the time of it.
bool launched() {
  const auto names = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::any_of(names.begin(), names.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

// Not destroyed at exit: a process that fails must not wait there for the others.
struct World {
  std::unique_ptr<Communicator> communicator;
  bool with_mpi = false;
};
World& the_world() {
  static auto* world = new World;
  return *world;
}

}  // namespace

Communicator& world() {
  World& w = the_world();
  if (!w.communicator) {
    w.with_mpi = launched();
    if (w.with_mpi) {
      w.communicator = std::make_unique<MpiRank>();
    } else {
      w.communicator = std::make_unique<OneProcess>();
    }
  }
  return *w.communicator;
}

void leave_world() {
  World& w = the_world();
  if (w.communicator && w.with_mpi) MPI_Finalize();
  w.communicator.reset();
}

}  // namespace qkv
