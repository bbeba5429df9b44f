// Positions: sinusoidal, rotary, and what ALiBi and T5 derive from a distance.
#include "qkv/op/position.h"

#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/relative_buckets.h"
#include "qkv/op/rotary.h"
#include "test/golden_test/case.h"

namespace qkv::golden::position_cases {

void sinusoidal_case(Case& c) {
  c.knows({"op", "length", "d_model"}, {});
  c.compare("out", sinusoidal(c.integer("length"), c.integer("d_model")));
}

void rotary_case(Case& c) {
  c.knows({"op", "interleaved", "base", "offset"}, {"q"});
  RotaryOptions options{.interleaved = c.flag("interleaved")};
  if (c.has("base")) options.base = c.number("base");
  if (c.has("offset")) options.offset = c.integer("offset");
  const Variable out = rotary(c.leaf("q"), options);
  c.compare("out", out.value());
  c.backward(out);
}

void alibi_slopes_case(Case& c) {
  c.knows({"op"}, {});
  const std::vector<float> slopes = alibi_slopes(c.integer("H"));
  c.compare_each("out", Tensor::from(slopes, {static_cast<int64_t>(slopes.size())}));
}

void t5_buckets_case(Case& c) {
  c.knows({"op", "bidirectional", "num_buckets", "max_distance"}, {});
  const int64_t T = c.integer("T"), S = c.integer("S");
  std::vector<int32_t> buckets;
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < S; ++j)
      buckets.push_back(static_cast<int32_t>(relative_bucket(
          j - (i + S - T), {c.flag("bidirectional"), c.integer("num_buckets"), c.integer("max_distance")})));
  c.compare_each("out", Tensor::from(buckets, {T, S}));
}

void position(Case& c) {
  const std::string op = c.text("op");
  if (op == "sinusoidal") return sinusoidal_case(c);
  if (op == "rotary") return rotary_case(c);
  if (op == "alibi_slopes") return alibi_slopes_case(c);
  if (op == "t5_buckets") return t5_buckets_case(c);
  throw NotBuilt("op " + op + " is not known");
}

const Group group("position", position);

}  // namespace qkv::golden::position_cases
