#include "qkv/attention/score/dot_product_score.h"

#include "qkv/attention/engine/tile_products.h"

namespace qkv::internal {

void DotProductScore::forward(const Tile& tile, const ScoreOperands& x, float* s) const {
  multiply_rows(*x.products, tile, x.k, x.q, *dot_scale(x.k.width), s);
}

void DotProductScore::backward(const Tile& tile, const ScoreOperands& x, const WeightOperand& ds,
                               const ScoreGradients& g) const {
  add_rows_product(*x.products, tile, ds, x.q, g.dk);
  x.products->add(g.dq_rows ? rows_product(tile, x.k, ds, g.dq_rows, x.k.width)
                            : columns_product(tile, x.k, ds, g.dq_transposed, x.q.stride));
}

}  // namespace qkv::internal
