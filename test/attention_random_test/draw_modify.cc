#include <cmath>
#include <cstdlib>
#include <limits>

#include "qkv/attention/modify/absolute_bias.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/falcon_alibi.h"
#include "qkv/attention/modify/first_block_bias.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/attention/modify/score_mod.h"
#include "qkv/attention/modify/softcap.h"
#include "test/attention_random_test/drawn_parts.h"

namespace qkv::test {
namespace {

DrawnModifier draw_softcap(Dice& dice) {
  const float cap = static_cast<float>(dice.between(1, 40)) / 2;
  return {"softcap", [=](const BatchRows&) { return softcap(cap); }, reference::softcap(static_cast<double>(cap))};
}

DrawnModifier draw_bias(Dice& dice, const AttentionShape& n) {
  const auto axis = [&](int64_t length) { return dice.one_in(2) ? 1 : length; };
  Tensor x = dice.normals({axis(n.B), axis(n.H), axis(n.T), axis(n.S)}, 1);
  if (dice.one_in(3))
    for (float& value : x.span<float>())
      if (dice.one_in(5)) value = -std::numeric_limits<float>::infinity();
  const Variable numbers = dice.parameter(x);
  return {
      "bias", [=](const BatchRows& rows) { return bias(rows.of(numbers)); }, reference::bias(numbers), {numbers}};
}

DrawnModifier draw_alibi(Dice& dice, const AttentionShape& n) {
  const Variable slopes = dice.parameter(dice.normals({n.H}, 0.05));
  return {"alibi", [=](const BatchRows&) { return alibi(slopes); }, reference::alibi(slopes), {slopes}};
}

DrawnModifier draw_relative_bias(Dice& dice, const AttentionShape& n) {
  const RelativeBuckets buckets{dice.one_in(2), dice.between(4, 40), dice.between(30, 200)};
  const Variable table = dice.parameter(dice.normals({buckets.num_buckets, n.H}, 1));
  return {"relative_bias",
          [=](const BatchRows&) { return relative_bias(table, buckets); },
          reference::relative_bias(table, buckets),
          {table}};
}

DrawnModifier draw_absolute_bias(Dice& dice, const AttentionShape& n) {
  const int64_t positions = dice.between(1, 150);
  const Variable table = dice.parameter(dice.normals({n.H, positions, positions}, 1));
  return {"absolute_bias",
          [=](const BatchRows&) { return absolute_bias(table); },
          reference::absolute_bias(table),
          {table}};
}

DrawnModifier draw_falcon_alibi(Dice& dice, const AttentionShape& n) {
  const Tensor drawn = dice.normals({n.H}, 0.05);
  const std::vector<float> slopes(drawn.span<float>().begin(), drawn.span<float>().end());
  const float scale = static_cast<float>(dice.between(1, 8)) / 8;
  return {"falcon_alibi", [=](const BatchRows&) { return falcon_alibi(slopes, scale); },
          reference::falcon_alibi(slopes, scale)};
}

DrawnModifier draw_first_block_bias(Dice& dice) {
  const int64_t block = dice.between(1, 90), copies = dice.between(0, 4);
  return {"first_block_bias", [=](const BatchRows&) { return first_block_bias(block, copies); },
          reference::first_block_bias(block, copies)};
}

// A softcap with its gradient by Dual, or ALiBi with a derivative.
DrawnModifier draw_score_mod(Dice& dice, const AttentionShape& n) {
  if (dice.one_in(2)) {
    const float cap = static_cast<float>(dice.between(1, 40)) / 2;
    const auto f = [cap](auto s, int64_t, int64_t, int64_t, int64_t) {
      using std::tanh;
      return s > -std::numeric_limits<float>::infinity() ? cap * tanh(s / cap) : s;
    };
    return {"score_mod", [=](const BatchRows&) { return score_mod(f); },
            reference::softcap(static_cast<double>(cap))};
  }
  const Tensor slopes = dice.normals({n.H}, 0.05);
  const auto f = [slopes, n](float s, int64_t, int64_t h, int64_t i, int64_t j) {
    return s - slopes.data<float>()[h] * static_cast<float>(std::abs(n.position(i) - j));
  };
  const auto one = [](float, int64_t, int64_t, int64_t, int64_t) { return 1.0f; };
  return {"score_mod",
          [=](const BatchRows&) { return score_mod(f, {.derivative = one}); },
          reference::alibi(slopes),
          {Variable(slopes)}};
}

}  // namespace

DrawnModifier draw_modifier(Dice& dice, const AttentionShape& n) {
  switch (dice.between(0, 7)) {
    case 0: return draw_softcap(dice);
    case 1: return draw_bias(dice, n);
    case 2: return draw_alibi(dice, n);
    case 3: return draw_score_mod(dice, n);
    case 4: return draw_absolute_bias(dice, n);
    case 5: return draw_falcon_alibi(dice, n);
    case 6: return draw_first_block_bias(dice);
    default: return draw_relative_bias(dice, n);
  }
}

}  // namespace qkv::test
