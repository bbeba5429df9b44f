// A mask of your own, as a rule of one pair.
//
//     MaskPtr checkers = mask_mod([](int64_t batch, int64_t head, int64_t query, int64_t key) {
//       return (query + key) % 2 == head % 2;
//     }, {.name = "checkers", .per_batch = false});
//     Tensor y = attention(q, k, v, {.mask = causal() & checkers});
//
// The rule is asked about every pair of a shape once, from several threads, when the first call with that shape
// comes; what it said is kept as a map of blocks and serves all later calls. So it must not change its mind:
// whoever wants another rule makes another mask. Queries count from 0, whatever S is; query i stands on key i + S -
// T.
//
// A mask with more structure than single pairs (intervals of keys, blocks) is faster as a class: derive it from
// Mask (mask.h), and std::make_shared of it is a MaskPtr.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "qkv/attention/mask/mask.h"

namespace qkv {

struct MaskModOptions {
  std::string name = "mask_mod(rule)";
  // Whether the rule looks at its batch and at its head; where it does not, it is asked with 0 alone.
  bool per_batch = true, per_head = true;
};

// From a rule of whole tiles, which answers like Mask::fill().
MaskPtr tile_mask_mod(std::function<void(const Tile& tile, uint64_t* visible)> rule,
                      const MaskModOptions& options = {});

template <class Rule>
requires std::is_invocable_r_v<bool, const Rule&, int64_t, int64_t, int64_t, int64_t> MaskPtr
mask_mod(Rule rule, const MaskModOptions& options = {}) {
  return tile_mask_mod(
      [rule = std::move(rule)](const Tile& tile, uint64_t* visible) {
        for (int64_t j = 0; j < tile.keys; ++j) {
          uint64_t word = 0;
          for (int64_t i = 0; i < tile.queries; ++i)
            word |= uint64_t{rule(tile.batch, tile.head, tile.query + i, tile.key + j) ? 1u : 0u} << i;
          visible[j] = word;
        }
      },
      options);
}

}  // namespace qkv
