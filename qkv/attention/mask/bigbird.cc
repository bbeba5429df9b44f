#include "qkv/attention/mask/bigbird.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "qkv/attention/mask/mapped.h"
#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/random.h"

namespace qkv {
namespace {

void check(const BigBirdOptions& o) {
  require(o.block > 0 && o.heads > 0 && o.random_blocks >= 0, "bigbird",
          "block {} and heads {} must be positive, random_blocks {} must not be negative", o.block, o.heads,
          o.random_blocks);
  require(o.window_blocks > 0 && o.window_blocks % 2 == 1, "bigbird",
          "window_blocks must be odd and positive, got {}", o.window_blocks);
}

// The block of a position; negative for negative positions.
int64_t block_of(int64_t position, int64_t block) {
  return position >= 0 ? position / block : -ceil_div(-position, block);
}

// The rule for a sequence of `blocks` blocks.
class Rule {
 public:
  Rule(const BigBirdOptions& options, int64_t blocks) : o_(options) {
    for (const int64_t g : o_.global_blocks) global_.push_back(g < 0 ? g + blocks : g);
    std::sort(global_.begin(), global_.end());
    global_.erase(std::unique(global_.begin(), global_.end()), global_.end());
  }

  bool sees_without_draw(int64_t i, int64_t j) const {
    return std::abs(i - j) <= o_.window_blocks / 2 || is_global(i) || is_global(j);
  }

  // The blocks that block i draws, without repetition: Floyd's algorithm, one random number per drawn block.
  std::vector<int64_t> drawn(int64_t head, int64_t i) const {
    const int64_t before = i - o_.window_blocks / 2;  // [0, before) is out of the window
    if (before <= 0 || is_global(i)) return {};
    const auto end = std::lower_bound(global_.begin(), global_.end(), before);
    const auto begin = std::lower_bound(global_.begin(), end, int64_t{0});
    const int64_t others = before - (end - begin), count = std::min(others, (o_.random_blocks + (i & 1)) / 2);
    Random random(o_.seed, mix(static_cast<uint64_t>(head), static_cast<uint64_t>(i)));
    std::vector<int64_t> chosen;
    for (int64_t last = others - count; last < others; ++last) {
      const auto t = static_cast<int64_t>(random.below(static_cast<uint64_t>(last) + 1));
      chosen.push_back(std::find(chosen.begin(), chosen.end(), t) == chosen.end() ? t : last);
    }
    for (int64_t& j : chosen)  // from the index among non-global blocks to the block
      for (auto g = begin; g != end && *g <= j; ++g) ++j;
    return chosen;
  }

  // `rows` rows by `columns` columns of the table of a head, in bytes.
  std::vector<uint8_t> table(int64_t head, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    std::vector<uint8_t> out(static_cast<size_t>(rows * columns));
    const auto set = [&](int64_t i, int64_t j) {
      if (i >= row && i < row + rows && j >= column && j < column + columns)
        out[static_cast<size_t>((i - row) * columns + j - column)] = 1;
    };
    for (int64_t i = row; i < row + rows; ++i)
      for (int64_t j = column; j < column + columns; ++j)
        if (sees_without_draw(i, j)) set(i, j);
    for (int64_t i = row; i < row + rows; ++i)
      for (const int64_t j : drawn(head, i)) set(i, j);
    for (int64_t j = column; j < column + columns; ++j)
      for (const int64_t i : drawn(head, j)) set(i, j);
    return out;
  }

 private:
  bool is_global(int64_t i) const { return std::binary_search(global_.begin(), global_.end(), i); }

  const BigBirdOptions& o_;
  std::vector<int64_t> global_;  // sorted
};

class BigBirdMask final : public internal::MappedMask {
 public:
  explicit BigBirdMask(const BigBirdOptions& options)
      : MappedMask({.batch = false, .head = options.heads > 1, .query = true}), o_(options) {}

  void check(const AttentionShape& shape) const override {
    require(o_.heads == 1 || o_.heads == shape.H, "bigbird", ".heads must be 1 or H {1}, it is {0}", o_.heads,
            shape.H);
    MappedMask::check(shape);
  }
  std::string name() const override {
    return fmt::format("bigbird({{.block = {}, .window_blocks = {}, .random_blocks = {}}})", o_.block,
                       o_.window_blocks, o_.random_blocks);
  }

 private:
  void evaluate(const Tile& tile, uint64_t* visible) const override {
    const int64_t first = tile.shape->position(tile.query);
    const int64_t row = block_of(first, o_.block), rows = block_of(first + tile.queries - 1, o_.block) - row + 1;
    const int64_t column = tile.key / o_.block, columns = (tile.key + tile.keys - 1) / o_.block - column + 1;
    const Rule rule(o_, ceil_div(tile.shape->S, o_.block));
    const std::vector<uint8_t> table = rule.table(tile.head, row, rows, column, columns);
    for (int64_t key = 0; key < tile.keys; ++key) {
      const int64_t j = (tile.key + key) / o_.block - column;
      visible[key] = 0;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t begin = (row + i) * o_.block - first;
        if (table[static_cast<size_t>(i * columns + j)])
          visible[key] |= first_queries(begin + o_.block) & ~first_queries(begin);
      }
    }
  }

  BigBirdOptions o_;
};

}  // namespace

MaskPtr bigbird(const BigBirdOptions& options) {
  check(options);
  return std::make_shared<BigBirdMask>(options);
}

Tensor bigbird_table(int64_t length, const BigBirdOptions& o) {
  check(o);
  require(length > 0, "bigbird_table", "the length must be positive, got {}", length);
  const int64_t n = ceil_div(length, o.block);
  Tensor table = Tensor::empty({1, o.heads, n, n}, DType::u8);
  const Rule rule(o, n);
  for (int64_t head = 0; head < o.heads; ++head) {
    const std::vector<uint8_t> rows = rule.table(head, 0, n, 0, n);
    std::copy(rows.begin(), rows.end(), table.data<uint8_t>() + head * n * n);
  }
  return table;
}

}  // namespace qkv
