#include "qkv/attention/mask/every.h"

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Every final : public Mask {
 public:
  explicit Every(int64_t step) : step_(step) {}

  Visibility classify(const Tile& tile) const override {
    if (step_ == 1) return Visibility::visible;
    // The first query that sees the first key; each further key moves it by one.
    const int64_t first = first_query(tile, 0);
    const bool any = first < tile.queries || first + tile.keys - 1 >= step_;
    return any ? Visibility::partial : Visibility::masked;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    for (int64_t j = 0; j < tile.keys; ++j) {
      visible[j] = 0;
      for (int64_t i = first_query(tile, j); i < tile.queries; i += step_) visible[j] |= uint64_t{1} << i;
    }
  }
  std::string name() const override { return fmt::format("every({})", step_); }

 private:
  // The first query of the tile, or after it, that sees its key j: in [0, step).
  int64_t first_query(const Tile& tile, int64_t j) const {
    const int64_t ahead = (tile.key + j - tile.shape->position(tile.query)) % step_;
    return ahead < 0 ? ahead + step_ : ahead;
  }

  int64_t step_;
};

}  // namespace

MaskPtr every(int64_t step) {
  require(step > 0 && step < int64_t{1} << 40, "every", "the step must be positive and below 2^40, got {}", step);
  return std::make_shared<Every>(step);
}

}  // namespace qkv
