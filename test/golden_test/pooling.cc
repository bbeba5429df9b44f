// Nadaraya-Watson regression: attention by distance with kernel weights, of points on a line or of vectors.
#include "qkv/attention/attention.h"
#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/score/distance.h"
#include "qkv/op/shape.h"
#include "test/golden_test/case.h"

namespace qkv::golden::pooling_cases {

NormalizerPtr kernel_given(const std::string& kernel) {
  if (kernel == "gaussian") return softmax();
  if (kernel == "boxcar") return boxcar();
  if (kernel == "epanechikov") return triangular();  // the book's name for it
  if (kernel == "epanechnikov") return epanechnikov();
  if (kernel == "constant") return constant();
  throw NotBuilt("kernel " + kernel + " is not known");
}

// (T) or (B,T,D) as (B,1,T,D).
Variable with_all_axes(const Variable& x) {
  if (x.value().rank() == 1) return reshape(x, {1, 1, x.dim(0), 1});
  return reshape(x, {x.dim(0), 1, x.dim(1), x.dim(2)});
}

void pooling(Case& c) {
  c.knows({"kernel", "sigma"}, {"q", "k", "v", "sigma"});
  const Variable q = c.leaf("q"), v = c.leaf("v");
  const AttentionOptions options = {.score = c.holds("sigma") ? gaussian(c.leaf("sigma")) : distance(),
                                    .normalize = kernel_given(c.text("kernel"))};
  const auto [y, weights, lse] =
      attention_with_weights(with_all_axes(q), with_all_axes(c.leaf("k")), with_all_axes(v), options);
  const bool on_a_line = q.value().rank() == 1;
  const Variable out = reshape(y, on_a_line ? Shape{q.dim(0)} : Shape{q.dim(0), q.dim(1), v.dim(2)});
  c.compare("out", out.value());
  c.compare("weights",
            weights.reshape(on_a_line ? Shape{q.dim(0), v.dim(0)} : Shape{q.dim(0), q.dim(1), v.dim(1)}));
  c.backward(out);
}

const Group group("pooling", pooling);

}  // namespace qkv::golden::pooling_cases
