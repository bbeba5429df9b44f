#include "qkv/base/subgroup.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {

Subgroup::Subgroup(Communicator& c, std::vector<int> ranks) : c_(c), ranks_(std::move(ranks)) {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    require(ranks_[i] >= 0 && ranks_[i] < c.size(), "Subgroup", "a rank must be 0 to {}, got {}", c.size() - 1,
            ranks_[i]);
    require(std::count(ranks_.begin(), ranks_.end(), ranks_[i]) == 1, "Subgroup", "rank {} appears twice",
            ranks_[i]);
    if (ranks_[i] == c.rank()) rank_ = static_cast<int>(i);
  }
  require(rank_ != no_rank, "Subgroup", "rank {} is not one of the group", c.rank());
}

void Subgroup::transfer(int to, Bytes sent, int from, MutableBytes received) {
  const auto rank_of = [&](int member) {
    return member == no_rank ? no_rank : ranks_[static_cast<size_t>(member)];
  };
  c_.exchange(rank_of(to), sent, rank_of(from), received);
}

}  // namespace qkv
