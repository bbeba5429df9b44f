// The gradients of a rank's last piece, summed over the ranks by a thread of its own, part by part, while the backward pass
// still computes others:
//
//     ExchangeThread exchange(c, tree, format, shards);
//     loss.backward(parameters, [&](size_t i) { exchange.complete(i); });
//     exchange.finish();                                         // tree.sum() has the sums over the ranks
//
// A part is some parameters that follow each other, of 4 MB or more. All ranks send the same parts in the same order, from the
// last parameters to the first, which is roughly the order in which a backward pass completes them. Sums of ranks belong to
// single numbers, so the parts do not change their bits.
// Of a part only the blocks travel that are not zero on every rank (train/touched_blocks.h).
// Until finish() returns, the communicator and the tree belong to this object. complete() need not be called: what is left is sent
// by finish().
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "qkv/base/collectives.h"
#include "qkv/train/gradient_tree.h"

namespace qkv {

class ExchangeThread {
 public:
  // With shards, each rank gets the sums of its own alone. All must outlive it.
  ExchangeThread(Communicator& c, GradientTree& tree, GradientFormat format, std::span<const Shard> shards);
  // Without finish(): after an error. What is on its way is sent to its end.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  void complete(size_t parameter);
  void finish();

 private:
  struct Part {
    size_t first = 0, last = 0;  // parameters
    size_t missing = 0;          // those that are not complete
  };
  struct Message {
    Shard place;     // in the flat numbers
    Tensor numbers;  // of the tree
  };
  void send_complete_parts();
  void run();
  void exchange(Message& message);

  Communicator& c_;
  GradientTree& tree_;
  const GradientFormat format_;
  const std::span<const Shard> shards_;
  std::vector<Part> parts_;      // in the order in which they are sent
  std::vector<size_t> part_of_;  // of each parameter
  size_t next_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> waiting_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace qkv
