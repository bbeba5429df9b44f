// Attention by every score: bilinear, concat, location, cosine, distance, Gaussian.
#include "qkv/attention/attention.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/location.h"
#include "test/golden_test/case.h"

namespace qkv::golden {
namespace {

ScorePtr score_given(Case& c, const std::string& score) {
  if (score == "bilinear") return bilinear(c.leaf("m"));
  if (score == "concat") return concat(c.leaf("w"), c.leaf("w_v"));
  if (score == "location") return location(c.leaf("w"));
  if (score == "cosine") return cosine(static_cast<float>(c.number("scale")));
  if (score == "distance") return distance();
  if (score == "gaussian") return gaussian(c.leaf("sigma"));
  throw NotBuilt("score " + score + " is not known");
}

void score(Case& c) {
  c.knows({"score", "rows", "scale", "sigma"}, {"q", "k", "v", "m", "w", "w_v", "sigma", "valid_lens"});
  const AttentionOptions options = {.score = score_given(c, c.text("score")),
                                    .mask = c.holds("valid_lens") ? padding(c.tensor("valid_lens")) : MaskPtr()};
  const Variable v = c.leaf("v"), k = c.holds("k") ? c.leaf("k") : v;  // location reads no keys
  const auto [out, weights, lse] = attention_with_weights(c.leaf("q"), k, v, options);
  c.compare("out", out.value());
  c.compare_if_held("weights", weights);
  c.compare_if_held("lse", lse);
  c.backward(out);
}

const Group group("score", score);

}  // namespace
}  // namespace qkv::golden
