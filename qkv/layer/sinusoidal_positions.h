// The table of sinusoidal positions of a model (op/position.h), made when it is first used.
//
//     SinusoidalPositions positions(/*width=*/512, /*max_positions=*/1024);
//     auto [table, first] = positions.rows(100, 25);      // position 100 is row `first` of the table
//
// The first 256 positions are stored, or the first 1,024 or 4,096 if those are asked for; others are computed for the
// call. So a large max_positions takes no memory.
#pragma once

#include <array>
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
  static constexpr std::array<int64_t, 3> table_sizes = {256, 1024, 4096};
  using Tables = std::array<OnDemand<Variable>, table_sizes.size()>;

  int64_t width_, max_positions_;
  SinusoidLayout layout_;
  std::shared_ptr<Tables> tables_ = std::make_shared<Tables>();
};

}  // namespace qkv
