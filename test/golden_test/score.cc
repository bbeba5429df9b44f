// Attention by every score: bilinear, concat, location, cosine, distance, Gaussian; and local attention.
#include "qkv/attention/attention.h"
#include "qkv/attention/local.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"
#include "test/golden_test/case.h"

namespace qkv::golden::score_cases {

ScorePtr score_given(Case& c, const std::string& score) {
  if (score == "bilinear") return bilinear(c.leaf("m"));
  if (score == "concat") return concat(c.leaf("w"), c.leaf("w_v"));
  if (score == "location") return location(c.leaf("w"));
  if (score == "cosine") return cosine(static_cast<float>(c.number("scale")));
  if (score == "distance") return distance();
  if (score == "gaussian") return gaussian(c.leaf("sigma"));
  throw NotBuilt("score " + score + " is not known");
}

AttentionOptions options_given(Case& c) {
  const std::string score = c.text("score");
  const MaskPtr valid = c.holds("valid_lens") ? padding(c.tensor("valid_lens")) : MaskPtr();
  if (score != "local_m" && score != "local_p") return {.score = score_given(c, score), .mask = valid};

  const ScorePtr align = c.text("align") == "dot" ? dot() : score_given(c, "bilinear");
  const int64_t window = c.integer("window");
  if (score == "local_m") return {.score = align, .mask = valid & local_m(window)};
  const Variable q = c.leaf("q");
  const std::vector<int32_t> all(static_cast<size_t>(q.dim(0)), static_cast<int32_t>(c.leaf("k").dim(2)));
  const Tensor lengths = c.holds("valid_lens") ? c.tensor("valid_lens") : Tensor::from(all, {q.dim(0)});
  const PredictedWindow local = local_p(q, c.leaf("w_p"), c.leaf("v_p"), lengths, window);
  c.compare("p", local.p.value());
  return {.score = align, .mask = valid & local.mask, .reweigh = {local.reweigh}};
}

void score(Case& c) {
  c.knows({"score", "rows", "scale", "sigma", "align", "window"},
          {"q", "k", "v", "m", "w", "w_v", "sigma", "valid_lens", "p", "w_p", "v_p"});
  const AttentionOptions options = options_given(c);
  const Variable v = c.leaf("v"), k = c.holds("k") ? c.leaf("k") : v;  // location reads no keys
  const auto [out, weights, lse] = attention_with_weights(c.leaf("q"), k, v, options);
  c.compare("out", out.value());
  c.compare_if_held("weights", weights);
  c.compare_if_held("lse", lse);
  c.backward(out);
}

const Group group("score", score);

}  // namespace qkv::golden::score_cases
