// A score modification of your own, as a function of one score and its position (score_mod of FlexAttention: Dong
// et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels", 2024).
//
//     s_ij <- f(s_ij, b, h, i, j)              b batch, h query head, i query, j key, all counted from 0
//
//     ModifierPtr decay = score_mod([](auto score, int64_t b, int64_t h, int64_t i, int64_t j) {
//       return score * (1 + 0.1 * double(h)) - 0.01 * double(std::abs(i - j));
//     });
//     Variable y = attention(q, k, v, {.modify = {decay}});
//
// A function of `auto score` is called with float, and for gradients with Dual (modify/dual.h), which has + - * /,
// exp, log, sqrt, tanh, abs, min, max and comparisons. A function of `float score` has a gradient only if its
// derivative with respect to the score is given: score_mod(f, {.derivative = g}), g with the parameters of f.
// -infinity masks the key.
//
// The function is called once for every computed score, by several threads. A modification with parameters to
// learn, or one that should be as fast as those of the library, derives from Modifier (modifier.h) and works on
// whole tiles. Errors: an Error in the backward pass of a function without a derivative.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "qkv/attention/modify/dual.h"
#include "qkv/attention/modify/modifier.h"

namespace qkv {

using ScoreMod = std::function<float(float score, int64_t batch, int64_t head, int64_t query, int64_t key)>;

struct ScoreModOptions {
  ScoreMod derivative = {};  // df/dscore
  std::string name = "score_mod(f)";
};

namespace internal {

template <class F, class Score>
concept ScoreModOf = std::is_invocable_r_v<Score, const F&, Score, int64_t, int64_t, int64_t, int64_t>;

}  // namespace internal

// For a function whose derivative only the options can give.
ModifierPtr score_mod(ScoreMod f, ScoreModOptions options = {});

template <class F>
requires internal::ScoreModOf<F, float> ModifierPtr score_mod(F f, ScoreModOptions options = {}) {
  if constexpr (internal::ScoreModOf<F, Dual>)
    if (!options.derivative)
      options.derivative = [f](float score, int64_t b, int64_t h, int64_t i, int64_t j) {
        return Dual(f(Dual(score, 1.0f), b, h, i, j)).derivative;
      };
  return score_mod(ScoreMod([f = std::move(f)](float score, int64_t b, int64_t h, int64_t i, int64_t j) {
                     return static_cast<float>(f(score, b, h, i, j));
                   }),
                   std::move(options));
}

}  // namespace qkv
