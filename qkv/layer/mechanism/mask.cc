// Words that hide keys. Their masks count from the position of a query, never from the end of a row, so that a step
// of decoding sees what the whole sequence would.

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

constexpr double far = 1 << 20;

std::vector<int64_t> first(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

template <MaskPtr (*mask)(const Numbers&)>
void add_mask(AttentionOptions& options, const AttentionPart& part) {
  options.mask = options.mask & mask(part.numbers());
}

MaskPtr window_of(const Numbers& n) { return window(whole(n, 0)); }
MaskPtr dilated_of(const Numbers& n) { return dilated(whole(n, 0), whole(n, 1)); }
MaskPtr strided_of(const Numbers& n) { return window(whole(n, 0) - 1) | every(whole(n, 0)); }
MaskPtr longformer_of(const Numbers& n) { return longformer(whole(n, 0), first(whole(n, 1))); }
MaskPtr bigbird_of(const Numbers& n) {
  return bigbird({.block = whole(n, 0),
                  .window_blocks = whole(n, 1),
                  .global_blocks = first(whole(n, 2)),
                  .random_blocks = whole(n, 3)});
}

std::string error_of_bigbird(const Numbers& n, const AttentionSize&) {
  return whole(n, 1) % 2 == 1 ? "" : fmt::format("window is an odd number of blocks, got {}", whole(n, 1));
}

}  // namespace

AttentionMechanism longformer_mechanism() {
  return {.name = "longformer",
          .help = "a window, and the first positions, which see all and are seen by all (Beltagy et al., 2020)",
          .role = Role::mask,
          .in_cross = false,
          .numbers = {{"reach", 0, max_positions}, {"globals", 0, far}},
          .add_to = add_mask<longformer_of>};
}

AttentionMechanisms mask_mechanisms() {
  return {
      {.name = "window",
       .help = "a query sees so many positions to both sides",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"reach", 0, max_positions}},
       .add_to = add_mask<window_of>},
      {.name = "dilated",
       .help = "so many steps to both sides, a step being so many positions",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"reach", 0, far - 1}, {"step", 1, far - 1}},
       .add_to = add_mask<dilated_of>},
      {.name = "strided",
       .help = "the positions nearer than the stride, and every stride-th one (Child et al., 2019)",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"stride", 1, max_positions}},
       .add_to = add_mask<strided_of>},
      longformer_mechanism(),
      {.name = "bigbird",
       .help = "in blocks: a window, the first ones, and some drawn at random (Zaheer et al., 2020)",
       .role = Role::mask,
       .in_cross = false,
       .numbers = {{"block", 1, max_positions, 64},
                   {"window", 1, 1023, 3},
                   {"globals", 0, 1024, 1},
                   {"random", 0, 1024, 3}},
       .error = error_of_bigbird,
       .add_to = add_mask<bigbird_of>},
  };
}

}  // namespace qkv
