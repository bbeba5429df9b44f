#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "qkv/attention/local.h"
#include "qkv/attention/mask/around.h"
#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/blocks.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/first_keys.h"
#include "qkv/attention/mask/global_positions.h"
#include "qkv/attention/mask/global_tokens.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/mask_mod.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/strided.h"
#include "qkv/attention/mask/window.h"
#include "test/attention_random_test/drawn_parts.h"

namespace qkv::test {
namespace {

// A mask that is the same for every row of the batch, by a rule of the position p of the query and that of the key.
template <class Rule>
DrawnMask by_position(const std::string& mechanism, const MaskPtr& mask, const AttentionShape& n, Rule rule) {
  return {{mechanism},
          [=](const BatchRows&) { return mask; },
          [=](int64_t, int64_t, int64_t i, int64_t j) { return rule(n.position(i), j); }};
}

DrawnMask draw_causal(Dice& dice, const AttentionShape& n) {
  if (!dice.one_in(3)) return by_position("causal", causal(), n, [](int64_t p, int64_t j) { return j <= p; });
  const int64_t offset = dice.between(-50, 50);
  return {{"causal"},
          [=](const BatchRows&) { return causal(offset); },
          [=](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + offset; }};
}

DrawnMask draw_window(Dice& dice, const AttentionShape& n) {
  const int64_t left = dice.between(-1, 80), right = dice.between(-1, 80);
  const int64_t offset = dice.one_in(3) ? dice.between(-50, 50) : n.S - n.T;
  const MaskPtr mask = offset == n.S - n.T ? window(left, right) : window(left, right, offset);
  return {{"window"},
          [=](const BatchRows&) { return mask; },
          [=](int64_t, int64_t, int64_t i, int64_t j) {
            const int64_t p = i + offset;
            return (left < 0 || p - left <= j) && (right < 0 || j <= p + right);
          }};
}

DrawnMask draw_local_m(Dice& dice, const AttentionShape&) {
  const int64_t reach = dice.between(0, 80);
  return {{"local_m"},
          [=](const BatchRows&) { return local_m(reach); },
          [=](int64_t, int64_t, int64_t i, int64_t j) { return std::abs(i - j) <= reach; }};
}

DrawnMask draw_every(Dice& dice, const AttentionShape& n) {
  const int64_t step = dice.between(1, 20);
  return by_position("every", every(step), n, [=](int64_t p, int64_t j) { return (p - j) % step == 0; });
}

DrawnMask draw_dilated(Dice& dice, const AttentionShape& n) {
  const int64_t reach = dice.between(0, 30), dilation = dice.between(1, 6);
  return by_position("dilated", dilated(reach, dilation), n, [=](int64_t p, int64_t j) {
    return std::abs(p - j) <= reach * dilation && (p - j) % dilation == 0;
  });
}

DrawnMask draw_strided(Dice& dice, const AttentionShape& n) {
  const int64_t stride = dice.between(1, 40);
  return by_position("strided", strided(stride), n,
                     [=](int64_t p, int64_t j) { return j <= p && (p - j < stride || (p - j) % stride == 0); });
}

std::vector<int64_t> draw_positions(Dice& dice, int64_t keys) {
  std::vector<int64_t> positions;
  for (int64_t count = dice.between(0, 5); count > 0; --count) positions.push_back(dice.between(0, keys));
  return positions;
}

bool is_in(const std::vector<int64_t>& list, int64_t x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

DrawnMask draw_global_positions(Dice& dice, const AttentionShape& n) {
  const std::vector<int64_t> positions = draw_positions(dice, n.S);
  return by_position("global_positions", global_positions(positions), n,
                     [=](int64_t p, int64_t j) { return is_in(positions, p) || is_in(positions, j); });
}

DrawnMask draw_global_tokens(Dice& dice, const AttentionShape& n) {
  if (n.T > n.S) return draw_global_positions(dice, n);
  const Tensor tokens = dice.integers({dice.one_in(3) ? 1 : n.B, n.S}, 0, 1);
  const auto is_global = [=](int64_t b, int64_t p) {
    return tokens.at<int32_t>({tokens.dim(0) == 1 ? 0 : b, p}) != 0;
  };
  return {{"global_tokens"},
          [=](const BatchRows& rows) { return global_tokens(rows.of(tokens)); },
          [=](int64_t b, int64_t, int64_t i, int64_t j) { return is_global(b, n.position(i)) || is_global(b, j); }};
}

DrawnMask draw_longformer(Dice& dice, const AttentionShape& n) {
  const int64_t reach = dice.between(0, 60);
  const std::vector<int64_t> positions = draw_positions(dice, n.S);
  return by_position("longformer", longformer(reach, positions), n, [=](int64_t p, int64_t j) {
    return std::abs(p - j) <= reach || is_in(positions, p) || is_in(positions, j);
  });
}

// Its table of blocks has no rows for queries before the first key.
DrawnMask draw_bigbird(Dice& dice, const AttentionShape& n) {
  if (n.T > n.S) return draw_longformer(dice, n);
  const BigBirdOptions options = {
      .block = dice.between(1, 70),
      .window_blocks = 2 * dice.between(0, 2) + 1,
      .global_blocks = dice.one_in(2) ? std::vector<int64_t>{0} : std::vector<int64_t>{0, -1},
      .random_blocks = dice.between(0, 4),
      .heads = dice.one_in(2) ? 1 : n.H,
      .seed = static_cast<uint64_t>(dice.between(1, 1000))};
  const Tensor table = bigbird_table(n.S, options);
  return {{"bigbird"},
          [=](const BatchRows&) { return bigbird(options); },
          [=](int64_t, int64_t h, int64_t i, int64_t j) {
            return table.at<uint8_t>(
                       {0, options.heads == 1 ? 0 : h, n.position(i) / options.block, j / options.block}) != 0;
          }};
}

DrawnMask draw_padding(Dice& dice, const AttentionShape& n) {
  const bool per_query = dice.one_in(2);
  const Tensor lengths = dice.integers(per_query ? Shape{n.B, n.T} : Shape{n.B}, 0, n.S);
  return {{"padding"},
          [=](const BatchRows& rows) { return padding(rows.of(lengths)); },
          [=](int64_t b, int64_t, int64_t i, int64_t j) {
            return j < (per_query ? lengths.at<int32_t>({b, i}) : lengths.at<int32_t>({b}));
          }};
}

DrawnMask draw_prefix(Dice& dice, const AttentionShape& n) {
  const Tensor lengths = dice.integers({n.B}, 0, n.S);
  return {{"prefix"},
          [=](const BatchRows& rows) {
            const Tensor part = rows.of(lengths);
            return prefix({part.span<int32_t>().begin(), part.span<int32_t>().end()});
          },
          [=](int64_t b, int64_t, int64_t, int64_t j) { return j < lengths.at<int32_t>({b}); }};
}

DrawnMask draw_first_keys(Dice& dice, const AttentionShape& n) {
  const int64_t count = dice.between(0, n.S + 5);
  return by_position("first_keys", first_keys(count), n, [=](int64_t, int64_t j) { return j < count; });
}

DrawnMask draw_documents(Dice& dice, const AttentionShape& n) {
  const int64_t last = dice.between(0, 5);
  Tensor q = dice.integers({n.B, n.T}, 0, last), k = dice.integers({n.B, n.S}, 0, last);
  if (!dice.one_in(3))
    for (int64_t b = 0; b < n.B; ++b)
      for (Tensor row : {q.select(0, b), k.select(0, b)}) {
        const auto x = row.span<int32_t>();
        std::sort(x.begin(), x.end());
      }
  return {{"documents"},
          [=](const BatchRows& rows) { return documents(rows.of(q), rows.of(k)); },
          [=](int64_t b, int64_t, int64_t i, int64_t j) {
            return q.at<int32_t>({b, i}) == k.at<int32_t>({b, j});
          }};
}

Tensor draw_table(Dice& dice, const AttentionShape& n, int64_t rows, int64_t columns) {
  const auto axis = [&](int64_t length) { return dice.one_in(3) ? 1 : length; };
  Tensor table = Tensor::empty({axis(n.B), axis(n.H), rows, columns}, DType::u8);
  const int64_t share = dice.between(1, 4);
  for (uint8_t& x : table.span<uint8_t>()) x = dice.between(0, 4) < share;
  return table;
}

bool is_set(const Tensor& table, const std::array<int64_t, 4>& index) {
  const auto at = [&](int axis) { return table.dim(axis) == 1 ? 0 : index[static_cast<size_t>(axis)]; };
  return table.at<uint8_t>({at(0), at(1), at(2), at(3)}) != 0;
}

DrawnMask draw_dense(Dice& dice, const AttentionShape& n) {
  const Tensor table = draw_table(dice, n, dice.one_in(3) ? 1 : n.T, dice.one_in(3) ? 1 : n.S);
  return {{"dense"},
          [=](const BatchRows& rows) { return dense(rows.of(table)); },
          [=](int64_t b, int64_t h, int64_t i, int64_t j) {
            return is_set(table, {b, h, i, j});
          }};
}

DrawnMask draw_blocks(Dice& dice, const AttentionShape& n) {
  const int64_t block = dice.between(1, 150);
  const Tensor table = draw_table(dice, n, (n.T + block - 1) / block, (n.S + block - 1) / block);
  return {{"blocks"},
          [=](const BatchRows& rows) { return blocks(rows.of(table), block); },
          [=](int64_t b, int64_t h, int64_t i, int64_t j) {
            return is_set(table, {b, h, i / block, j / block});
          }};
}

DrawnMask draw_around(Dice& dice, const AttentionShape& n) {
  const bool per_head = dice.one_in(2);
  Tensor centres = dice.normals(per_head ? Shape{n.B, n.H, n.T} : Shape{n.B, n.T}, static_cast<double>(n.S) / 2);
  for (float& c : centres.span<float>()) c += static_cast<float>(n.S) / 2;
  const double radius = static_cast<double>(dice.between(0, 200)) / 4;
  return {{"around"},
          [=](const BatchRows& rows) { return around(rows.of(centres), radius); },
          [=](int64_t b, int64_t h, int64_t i, int64_t j) {
            const float c = per_head ? centres.at<float>({b, h, i}) : centres.at<float>({b, i});
            return std::abs(static_cast<double>(j) - static_cast<double>(c)) <= radius;
          }};
}

DrawnMask draw_mask_mod(Dice& dice, const AttentionShape&) {
  const int64_t period = dice.between(2, 90), open = dice.between(1, period);
  const bool per_batch = dice.one_in(2), per_head = dice.one_in(2);
  const MaskModOptions options = {.per_batch = per_batch, .per_head = per_head};
  const auto rule = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    return (3 * i + j + (per_batch ? 7 * b : 0) + (per_head ? 5 * h : 0)) % period < open;
  };
  if (dice.one_in(2))
    return {{"mask_mod"},
            [=](const BatchRows& rows) {
              return mask_mod([=](auto b, auto h, auto i, auto j) { return rule(b + rows.first, h, i, j); },
                              options);
            },
            rule};
  return {{"tile_mask_mod"},
          [=](const BatchRows& rows) {
            const auto fill = [=](const Tile& tile, uint64_t* visible) {
              for (int64_t j = 0; j < tile.keys; ++j) {
                visible[j] = 0;
                for (int64_t i = 0; i < tile.queries; ++i)
                  if (rule(tile.batch + rows.first, tile.head, tile.query + i, tile.key + j))
                    visible[j] |= uint64_t{1} << i;
              }
            };
            return tile_mask_mod(fill, options);
          },
          rule};
}

std::vector<std::string> joined(const std::string& sign, std::vector<std::string> a,
                                const std::vector<std::string>& b) {
  a.push_back(sign);
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

DrawnMask draw_combination(Dice& dice, const AttentionShape& n, int depth) {
  const DrawnMask a = draw_mask(dice, n, depth - 1), b = draw_mask(dice, n, depth - 1);
  switch (dice.between(0, 3)) {
    case 0:
      return {joined("!", a.mechanisms, {}), [=](const BatchRows& rows) { return !a.part(rows); },
              [=](auto... at) { return !a.visible(at...); }};
    case 1:
      return {joined("|", a.mechanisms, b.mechanisms),
              [=](const BatchRows& rows) { return a.part(rows) | b.part(rows); },
              [=](auto... at) { return a.visible(at...) || b.visible(at...); }};
    default:
      return {joined("&", a.mechanisms, b.mechanisms),
              [=](const BatchRows& rows) { return a.part(rows) & b.part(rows); },
              [=](auto... at) { return a.visible(at...) && b.visible(at...); }};
  }
}

}  // namespace

DrawnMask draw_mask(Dice& dice, const AttentionShape& n, int depth) {
  using Draw = DrawnMask (*)(Dice&, const AttentionShape&);
  static const std::vector<Draw> all = {draw_causal,    draw_causal,           draw_window,        draw_local_m,
                                        draw_every,     draw_dilated,          draw_strided,       draw_padding,
                                        draw_padding,   draw_global_positions, draw_global_tokens, draw_longformer,
                                        draw_bigbird,   draw_prefix,           draw_documents,     draw_dense,
                                        draw_blocks,    draw_around,           draw_mask_mod,      draw_mask_mod,
                                        draw_first_keys};
  if (depth > 0 && dice.one_in(2)) return draw_combination(dice, n, depth);
  return all[static_cast<size_t>(dice.between(0, static_cast<int64_t>(all.size()) - 1))](dice, n);
}

}  // namespace qkv::test
