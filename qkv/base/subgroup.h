// Some ranks of a communicator, as a communicator of their own.
//
//     Subgroup group(c, {0, 2, 4});      // on each of these ranks: 2 is rank 1 of 3
//     all_reduce(group, numbers);
//
// Several groups without a common rank may work at the same time. The communicator must outlive its groups, and counts their
// messages as its own.
// Errors   Error: no ranks, ranks that do not exist or appear twice, a group without this rank.
#pragma once

#include <vector>

#include "qkv/base/communicator.h"

namespace qkv {

class Subgroup final : public Communicator {
 public:
  Subgroup(Communicator& c, std::vector<int> ranks);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

 private:
  void transfer(int to, Bytes sent, int from, MutableBytes received) override;

  Communicator& c_;
  std::vector<int> ranks_;
  int rank_ = no_rank;
};

}  // namespace qkv
