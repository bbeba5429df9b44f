#include "qkv/train/touched_blocks.h"

#include <algorithm>
#include <bit>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"

namespace qkv {
namespace {

constexpr int64_t block_size = 256;

// +0 alone: where one rank has -0 and another 0, their sum has other bits than the first.
bool is_zero(const float* numbers, int64_t count) {
  uint32_t bits = 0;
  for (int64_t i = 0; i < count; ++i) bits |= std::bit_cast<uint32_t>(numbers[i]);
  return bits == 0;
}

std::vector<std::byte> touched_by_any(Communicator& c, const Tensor& numbers) {
  const int64_t count = numbers.numel(), blocks = ceil_div(count, block_size);
  const float* x = numbers.span<float>().data();
  std::vector<std::byte> bits(static_cast<size_t>(ceil_div(blocks, 8)));
  for (int64_t block = 0; block < blocks; ++block)
    if (!is_zero(x + block * block_size, std::min(block_size, count - block * block_size)))
      bits[static_cast<size_t>(block / 8)] |= std::byte{1} << (block % 8);
  for (const std::vector<std::byte>& theirs : all_gather_bytes(c, bits)) {
    require(theirs.size() == bits.size(), "train", "a rank has {} bytes of blocks, another {}", bits.size(),
            theirs.size());
    for (size_t i = 0; i < bits.size(); ++i) bits[i] |= theirs[i];
  }
  return bits;
}

}  // namespace

TouchedBlocks::TouchedBlocks(Communicator& c, const Tensor& numbers) {
  const int64_t count = numbers.numel(), blocks = ceil_div(count, block_size);
  const std::vector<std::byte> bits = touched_by_any(c, numbers);
  std::vector<Run> runs;
  int64_t packed = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    if ((bits[static_cast<size_t>(block / 8)] >> (block % 8) & std::byte{1}) == std::byte{0}) continue;
    const int64_t begin = block * block_size, end = std::min(begin + block_size, count);
    if (!runs.empty() && runs.back().end == begin)
      runs.back().end = end;
    else
      runs.push_back({begin, end, packed});
    packed += end - begin;
  }
  if (packed > count * 3 / 4) return;
  runs.push_back({count, count, packed});  // so that there is one, also where nothing is touched
  runs_ = std::move(runs);
}

Tensor TouchedBlocks::pack(const Tensor& numbers) const {
  if (are_most()) return numbers;
  Tensor packed = Tensor::empty({runs_.back().packed});
  const float* from = numbers.span<float>().data();
  float* to = packed.data<float>();
  for (const Run& run : runs_) std::copy(from + run.begin, from + run.end, to + run.packed);
  return packed;
}

void TouchedBlocks::unpack(const Tensor& packed, Tensor& numbers) const {
  if (are_most()) return;
  const float* from = packed.span<float>().data();
  float* to = numbers.data<float>();
  for (const Run& run : runs_) std::copy_n(from + run.packed, run.end - run.begin, to + run.begin);
}

Shard TouchedBlocks::packed(const Shard& range) const {
  if (are_most()) return range;
  const auto place = [&](int64_t at) {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), at, [](int64_t x, const Run& run) { return x < run.begin; });
    if (after == runs_.begin()) return int64_t{0};
    const Run& run = after[-1];
    return run.packed + std::min(at, run.end) - run.begin;
  };
  return {place(range.begin), place(range.end)};
}

}  // namespace qkv
