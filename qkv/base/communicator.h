// Processes (ranks) that compute together and send each other bytes.
//
//     Communicator& c = world();                                     // world.h; in a test: run_ranks(4, ...), run_ranks.h
//     c.exchange(next, bytes_of(mine), previous, bytes_of(theirs));  // sends and receives at the same time
//     all_reduce(c, gradients);                                      // collectives.h: what is built on exchange()
//
// Every rank has the same size() and another rank(), 0 to size() - 1. exchange() may wait until the other side calls it;
// messages of a pair of ranks arrive in the order in which they are sent, whole: the receiver states their size.
// All of it is called by one thread of a process at a time.
// Errors   Error, when a rank does not exist, a message has another size than the receiver states, or another rank
//          failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace qkv {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

class Communicator {
 public:
  static constexpr int no_rank = -1;

  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends `sent` to rank `to` and receives `received` from rank `from`; `no_rank` sends, or receives, nothing. A message
  // to oneself is copied.
  void exchange(int to, Bytes sent, int from, MutableBytes received);
  void send(int to, Bytes sent) { exchange(to, sent, no_rank, {}); }
  void receive(int from, MutableBytes received) { exchange(no_rank, {}, from, received); }

  // The bytes of `root` for all ranks, along a binary tree.
  void broadcast(int root, MutableBytes bytes);
  // Returns when every rank has called it.
  void barrier();

  // What this rank has sent to others since the start.
  int64_t bytes_sent() const { return bytes_sent_; }

 private:
  // Neither is this rank. `no_rank` as above.
  virtual void transfer(int to, Bytes sent, int from, MutableBytes received) = 0;

  int64_t bytes_sent_ = 0;
};

// The memory of numbers, for a message: any contiguous range of trivially copyable elements.
template <class Range>
Bytes bytes_of(const Range& range) {
  return std::as_bytes(std::span(range));
}
template <class Range>
MutableBytes writable_bytes_of(Range&& range) {
  return std::as_writable_bytes(std::span(range));
}

}  // namespace qkv
