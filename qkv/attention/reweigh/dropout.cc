#include "qkv/attention/reweigh/dropout.h"

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

class DropoutReweigher final : public Reweigher {
 public:
  explicit DropoutReweigher(const WeightDropout& o)
      : rate_(o.rate), key_(kernel::dropout_key(o.seed, o.stream, static_cast<float>(o.rate))) {}

  // Pair (b, h, i, j) has random number ((b H + h) S + j) T' + i of the stream, T' being T rounded up to blocks: a
  // row of the tile has consecutive numbers.
  void multiply(const Tile& tile, float* x) const override {
    const AttentionShape& shape = *tile.shape;
    const int64_t row = rounded_up(shape.T, max_block_queries);
    for (int64_t j = 0; j < tile.keys; ++j) {
      const int64_t first = ((tile.batch * shape.H + tile.head) * shape.S + tile.key + j) * row + tile.query;
      float* weights = x + j * tile.width;
      kernel::kernels().rows.dropout(weights, tile.queries, key_, first, weights);
    }
  }
  std::string name() const override { return fmt::format("weight_dropout({})", rate_); }

 private:
  double rate_;
  kernel::DropoutKey key_;
};

}  // namespace

ReweigherPtr weight_dropout(const WeightDropout& options) {
  require(options.rate >= 0 && options.rate < 1, "weight_dropout", "the rate must be in [0, 1), got {}",
          options.rate);
  return std::make_shared<DropoutReweigher>(options);
}

}  // namespace qkv
