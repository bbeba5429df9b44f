// The table of sinusoidal positions of a model (op/position.h), made when it is first used.
//
//     SinusoidalPositions positions(/*width=*/512, /*max_positions=*/1024);
//     auto [table, first] = positions.rows(100, 25);      // position 100 is row `first` of the table
//
// The first 4,096 positions are stored; others are computed for the call, so that a large max_positions takes no
// memory.
#pragma once

#include <memory>
#include <utility>

#include "qkv/autograd/variable.h"
#include "qkv/base/on_demand.h"
#include "qkv/op/position.h"

namespace qkv {

class SinusoidalPositions {
 public:
  SinusoidalPositions(int64_t width, int64_t max_positions, SinusoidLayout layout = SinusoidLayout::interleaved);
  std::pair<Variable, int64_t> rows(int64_t first, int64_t count) const;

 private:
  int64_t width_, stored_count_;
  SinusoidLayout layout_;
  std::shared_ptr<OnDemand<Variable>> stored_ = std::make_shared<OnDemand<Variable>>();
};

}  // namespace qkv
