// A custom mask, from a function of a pair: FlexAttention's mask_mod.
//
//     MaskPtr checkers = mask_mod([](int64_t batch, int64_t head, int64_t query, int64_t key) {
//       return (query + key) % 2 == head % 2;
//     }, {.name = "checkers", .per_batch = false});
//     Tensor y = attention(q, k, v, {.mask = causal() & checkers});
//
// The rule is evaluated for every pair of a shape once, by several threads, in the first call with that shape;
// later calls use the stored block map. So the rule must be a pure function. Queries count from 0; the position of
// query i on the key axis is i + S - T.
//
// A mask that knows whole ranges of keys is faster as a class derived from Mask (mask.h); std::make_shared of it
// converts to MaskPtr. Errors: an empty rule.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "qkv/attention/mask/mask.h"

namespace qkv {

struct MaskModOptions {
  std::string name = "mask_mod(rule)";
  // Whether the rule depends on its batch and on its head; if not, it is called with 0 only.
  bool per_batch = true, per_head = true;
};

// A mask from a rule of whole tiles, which fills `visible` like Mask::fill().
MaskPtr tile_mask_mod(std::function<void(const Tile& tile, uint64_t* visible)> rule,
                      const MaskModOptions& options = {});

template <class Rule>
requires std::is_invocable_r_v<bool, const Rule&, int64_t, int64_t, int64_t, int64_t> MaskPtr
mask_mod(Rule rule, const MaskModOptions& options = {}) {
  return tile_mask_mod(
      [rule = std::move(rule)](const Tile& tile, uint64_t* visible) {
        for (int64_t j = 0; j < tile.keys; ++j) {
          uint64_t bits = 0;
          for (int64_t i = 0; i < tile.queries; ++i)
            bits |= uint64_t{rule(tile.batch, tile.head, tile.query + i, tile.key + j) ? 1u : 0u} << i;
          visible[j] = bits;
        }
      },
      options);
}

}  // namespace qkv
