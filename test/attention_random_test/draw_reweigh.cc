#include <cmath>

#include "qkv/attention/local.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/attention/reweigh/gaussian_window.h"
#include "test/attention_random_test/drawn_parts.h"

namespace qkv::test {

// Its random numbers count from row 0 of the batch.
DrawnReweigher draw_dropout(const AttentionShape& n, uint64_t seed) {
  const ReweigherPtr dropout = weight_dropout({.rate = 0.3, .seed = seed, .stream = 1});
  return {"weight_dropout", [=](const Variable&, const BatchRows&) { return DrawnReweigher::Part{dropout}; },
          reference::factors(reference::factors_of(*dropout, n))};
}

DrawnReweigher draw_gaussian_window(Dice& dice, const AttentionShape& n) {
  Tensor positions = dice.normals({n.B, n.H, n.T}, static_cast<double>(n.S) / 4);
  for (float& p : positions.span<float>()) p += static_cast<float>(n.S) / 2;
  const Variable p = dice.parameter(positions);
  const double sigma = static_cast<double>(dice.between(1, 20)) / 40 * static_cast<double>(n.S);
  return {"gaussian_window",
          [=](const Variable&, const BatchRows& rows) {
            return DrawnReweigher::Part{gaussian_window(rows.of(p), sigma)};
          },
          reference::gaussian_window(p, sigma),
          {p}};
}

// The edges of its mask are those of the library's own positions: a key at an edge may be on either side of it by a
// rounding.
DrawnReweigher draw_local_p(Dice& dice, const Tensor& q, int64_t keys) {
  const int64_t D = q.dim(3), F = dice.between(1, 8), window = dice.between(1, std::max<int64_t>(1, keys / 2));
  const Variable w_p = dice.parameter(dice.normals({F, D}, 1 / std::sqrt(static_cast<double>(D)))),
                 v_p = dice.parameter(dice.normals({F}, 1));
  const Tensor lengths = dice.integers({q.dim(0)}, 0, keys);
  const Tensor p = local_p(q, w_p, v_p, lengths, window).p.value();
  return {"local_p",
          [=](const Variable& queries, const BatchRows& rows) {
            const PredictedWindow local = local_p(queries, w_p, v_p, rows.of(lengths), window);
            return DrawnReweigher::Part{local.reweigh, local.mask};
          },
          reference::local_p(w_p, v_p, lengths, window),
          {w_p, v_p},
          [=](int64_t b, int64_t h, int64_t i, int64_t j) {
            return std::abs(static_cast<double>(j) - static_cast<double>(p.at<float>({b, h, i}))) <=
                   static_cast<double>(window);
          }};
}

}  // namespace qkv::test
