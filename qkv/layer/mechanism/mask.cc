// Masks. They are relative to the position of the query, never to the end of a row, so that a decoding step sees
// the same keys as a pass over the whole sequence.

#include <algorithm>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Role = AttentionMechanism::Role;

constexpr double max_globals = 1 << 20;

std::vector<int64_t> first(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

template <MaskPtr (*mask)(const Numbers&)>
void add_mask(AttentionOptions& options, const AttentionPart& part) {
  options.mask = options.mask & mask(part.numbers());
}

MaskPtr window_of(const Numbers& n) { return window(integer(n, 0)); }
MaskPtr dilated_of(const Numbers& n) { return dilated(integer(n, 0), integer(n, 1)); }
MaskPtr strided_of(const Numbers& n) { return window(integer(n, 0) - 1) | every(integer(n, 0)); }
MaskPtr longformer_of(const Numbers& n) { return longformer(integer(n, 0), first(integer(n, 1))); }
MaskPtr bigbird_of(const Numbers& n) {
  return bigbird({.block = integer(n, 0),
                  .window_blocks = integer(n, 1),
                  .global_blocks = first(integer(n, 2)),
                  .random_blocks = integer(n, 3)});
}

// prefix(lengths) for any batch: visible(i, j) <=> j < count.
class FirstKeys final : public Mask {
 public:
  explicit FirstKeys(int64_t count) : count_(count) {}

  KeyRange key_range(const QueryBlock& block) const override { return {0, std::min(count_, block.shape->S)}; }
  Visibility classify(const Tile& tile) const override {
    if (tile.key >= count_) return Visibility::masked;
    return tile.key + tile.keys <= count_ ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    const int64_t seen = std::clamp<int64_t>(count_ - tile.key, 0, tile.keys);
    std::fill(visible, visible + seen, ~uint64_t{0});
    std::fill(visible + seen, visible + tile.keys, 0);
  }
  std::string name() const override { return fmt::format("first_keys({})", count_); }

 private:
  int64_t count_;
};

MaskPtr first_keys(int64_t count) { return std::make_shared<FirstKeys>(count); }

std::string error_of_bigbird(const Numbers& n, const AttentionSize&) {
  return integer(n, 1) % 2 == 1 ? "" : fmt::format("window must be an odd number of blocks, got {}", integer(n, 1));
}

}  // namespace

AttentionMechanism longformer_mechanism() {
  return {
      .name = "longformer",
      .help =
          "sliding window of RADIUS positions on both sides, and GLOBALS first positions that see all and are seen "
          "by all (Beltagy et al., 2020)",
      .role = Role::mask,
      .in_cross = false,
      .numbers = {{"radius", 0, max_distance}, {"globals", 0, max_globals}},
      .add_to = add_mask<longformer_of>};
}

AttentionMechanisms mask_mechanisms() {
  return {
      {.name = "window",
       .help = "sliding window: keys within RADIUS positions of the query on both sides (Beltagy et al., 2020)",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"radius", 0, max_distance}},
       .add_to = add_mask<window_of>},
      {.name = "dilated",
       .help = "dilated window: every DILATION-th key, RADIUS of them on both sides (Beltagy et al., 2020)",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"radius", 0, max_globals - 1}, {"dilation", 1, max_globals - 1}},
       .add_to = add_mask<dilated_of>},
      {.name = "strided",
       .help = "strided pattern: keys nearer than STRIDE, and every STRIDE-th key (Child et al., 2019)",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"stride", 1, max_distance}},
       .add_to = add_mask<strided_of>},
      longformer_mechanism(),
      {.name = "bigbird",
       .help = "BigBird, in blocks of BLOCK positions: a window, GLOBALS first blocks and RANDOM random blocks "
               "(Zaheer et al., 2020)",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"block", 1, max_distance, 64},
                   {"window", 1, 1023, 3},
                   {"globals", 0, 1024, 1},
                   {"random", 0, 1024, 3}},
       .error = error_of_bigbird,
       .add_to = add_mask<bigbird_of>},
      {.name = "prefix",
       .help = "the first COUNT keys stay visible whatever the other masks of the variant are: window=64+prefix=4; "
               "a decoder stays causal",
       .role = Role::prefix,
       .in_cross = false,
       .numbers = {{"count", 1, max_globals}},
       .add_to =
           [](AttentionOptions& options, const AttentionPart& part) {
             options.mask = options.mask | first_keys(integer(part.numbers(), 0));
           }},
  };
}

}  // namespace qkv
