#include "qkv/base/communicator.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {

void Communicator::exchange(int to, Bytes sent, int from, MutableBytes received) {
  for (const int other : {to, from})
    require(other == no_rank || (other >= 0 && other < size()), "exchange", "a rank must be 0 to {}, got {}",
            size() - 1, other);
  require(
      (to == rank()) == (from == rank()), "exchange",
      "rank {} must both send a message to itself and receive it in one exchange; it sends to {}, receives from {}",
      rank(), to, from);
  if (to == rank()) {
    require(sent.size() == received.size(), "exchange", "rank {} sends itself {} bytes and receives {}", rank(),
            sent.size(), received.size());
    std::copy(sent.begin(), sent.end(), received.begin());
    return;
  }
  if (to == no_rank && from == no_rank) return;
  transfer(to, sent, from, received);
  if (to != no_rank) bytes_sent_ += static_cast<int64_t>(sent.size());
}

// A binomial tree: in every round each rank that has the bytes sends them to one that has not.
void Communicator::broadcast(int root, MutableBytes bytes) {
  require(root >= 0 && root < size(), "broadcast", "the root must be 0 to {}, got {}", size() - 1, root);
  const int own = (rank() - root + size()) % size();
  const auto rank_of = [&](int shifted) { return (shifted + root) % size(); };
  for (int have = 1; have < size(); have *= 2) {
    if (own < have && own + have < size()) send(rank_of(own + have), bytes);
    if (own >= have && own < 2 * have) receive(rank_of(own - have), bytes);
  }
}

// Dissemination: after the round of a distance d, a rank knows that the 2 d ranks up to itself have come.
void Communicator::barrier() {
  std::byte sent{}, received{};
  for (int distance = 1; distance < size(); distance *= 2)
    exchange((rank() + distance) % size(), {&sent, 1}, (rank() - distance + size()) % size(), {&received, 1});
}

}  // namespace qkv
