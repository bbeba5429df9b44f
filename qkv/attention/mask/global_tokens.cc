#include "qkv/attention/mask/global_tokens.h"

#include "qkv/attention/mask/global_positions.h"
#include "qkv/base/counted.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

// The global positions of the row of a tile.
class GlobalTokens final : public Mask {
 public:
  GlobalTokens(std::vector<MaskPtr> rows, int64_t length) : rows_(std::move(rows)), length_(length) {}

  void check(const AttentionShape& shape) const override {
    const auto rows = std::ssize(rows_);
    require((rows == 1 || rows == shape.B) && length_ == shape.S, "global_tokens",
            "tokens must be (B or 1, S) with B {} and S {}, got ({},{})", shape.B, shape.S, rows, length_);
  }
  KeyRange key_range(const QueryBlock& block) const override { return row(block)->key_range(block); }
  Visibility classify(const Tile& tile) const override { return row(tile)->classify(tile); }
  void fill(const Tile& tile, uint64_t* visible) const override { row(tile)->fill(tile, visible); }
  std::string name() const override { return fmt::format("global_tokens({})", counted(rows_.size(), "row")); }

 private:
  const MaskPtr& row(const QueryBlock& block) const {
    return rows_[rows_.size() == 1 ? 0 : static_cast<size_t>(block.batch)];
  }

  std::vector<MaskPtr> rows_;
  int64_t length_;
};

}  // namespace

MaskPtr global_tokens(const Tensor& tokens) {
  require(tokens.rank() == 2 && tokens.dtype() == DType::i32, "global_tokens",
          "tokens must be i32 (B,S), got {} {}", name_of(tokens.dtype()), tokens.shape());
  std::vector<MaskPtr> rows;
  for (int64_t b = 0; b < tokens.dim(0); ++b) {
    std::vector<int64_t> positions;
    for (int64_t j = 0; j < tokens.dim(1); ++j)
      if (tokens.at<int32_t>({b, j}) != 0) positions.push_back(j);
    rows.push_back(global_positions(std::move(positions)));
  }
  return std::make_shared<GlobalTokens>(std::move(rows), tokens.dim(1));
}

}  // namespace qkv
