#include "qkv/attention/mask/bigbird.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv {
namespace {

void check(const BigBird& o, int64_t length, int64_t blocks) {
  require(length > 0 && o.block > 0 && o.heads > 0 && o.random_blocks >= 0, "bigbird",
          "length {}, block {} and heads {} must be positive, random_blocks {} not negative", length, o.block,
          o.heads, o.random_blocks);
  require(o.window_blocks > 0 && o.window_blocks % 2 == 1, "bigbird", "window_blocks is an odd number, got {}",
          o.window_blocks);
  for (const int64_t g : o.global_blocks)
    require(g >= -blocks && g < blocks, "bigbird", "global block {} is none of {} blocks of {} positions", g,
            blocks, o.block);
}

}  // namespace

Tensor bigbird_table(int64_t length, const BigBird& o) {
  const int64_t n = o.block > 0 ? (length + o.block - 1) / o.block : 0;
  check(o, length, n);
  std::vector<uint8_t> is_global(static_cast<size_t>(n));
  for (const int64_t g : o.global_blocks) is_global[static_cast<size_t>(g < 0 ? g + n : g)] = 1;
  Tensor table = Tensor::zeros({1, o.heads, n, n}, DType::u8);
  for (int64_t head = 0; head < o.heads; ++head) {
    for (int64_t i = 0; i < n; ++i) {
      uint8_t* row = table.data<uint8_t>() + (head * n + i) * n;
      std::vector<int64_t> others;
      for (int64_t j = 0; j < n; ++j) {
        row[j] = std::abs(i - j) <= o.window_blocks / 2 || is_global[static_cast<size_t>(i)] ||
                 is_global[static_cast<size_t>(j)];
        if (!row[j]) others.push_back(j);
      }
      Random random(o.seed, static_cast<uint64_t>(head * n + i));
      random.shuffle(std::span(others));
      const auto drawn = std::min<size_t>(others.size(), static_cast<size_t>(o.random_blocks));
      for (size_t r = 0; r < drawn; ++r) row[others[r]] = 1;
    }
  }
  return table;
}

MaskPtr bigbird(int64_t length, const BigBird& options) {
  return blocks(bigbird_table(length, options), options.block);
}

}  // namespace qkv
