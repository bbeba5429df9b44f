// A score of your own, as a function of one query and one key.
//
//     s_ij = f(q_i, k_j)             q_i (D), k_j (D)
//
//     ScorePtr manhattan = score_function(
//         [](const float* q, const float* k, int64_t D) {
//           float s = 0;
//           for (int64_t d = 0; d < D; ++d) s -= std::abs(q[d] - k[d]);
//           return s;
//         },
//         {.backward = [](const float* q, const float* k, int64_t D, float ds, float* dq, float* dk) {
//            for (int64_t d = 0; d < D; ++d) {
//              const float g = q[d] > k[d] ? -ds : ds;
//              dq[d] += g;
//              dk[d] -= g;
//            }
//          }});
//     Variable y = attention(q, k, v, {.score = manhattan});
//
// backward() adds ds * df/dq and ds * df/dk. The functions are called once for every computed score, by several
// threads; the gradients of a query or key are summed in a fixed order. Queries and keys of bf16 arrive as floats.
// A score with parameters to learn, or one that should be as fast as those of the library, derives from Score
// (score.h). Errors: an Error in the backward pass where no backward was given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "qkv/attention/score/score.h"

namespace qkv {

using ScoreFunction = std::function<float(const float* q, const float* k, int64_t D)>;

struct ScoreFunctionOptions {
  std::function<void(const float* q, const float* k, int64_t D, float ds, float* dq, float* dk)> backward = {};
  std::string name = "score_function(f)";
};
ScorePtr score_function(ScoreFunction f, ScoreFunctionOptions options = {});

}  // namespace qkv
