// Why scores are divided by sqrt(D): queries and keys of width 256, with the scale and without.
#include "example/example.h"
#include "qkv/attention/score/dot.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor q = example::normal({1, 1, 12, 256}, 1), k = example::normal({1, 1, 12, 256}, 2), v = k;
  const Tensor scaled = attention_with_weights(q, k, v).weights;
  const Tensor raw = attention_with_weights(q, k, v, {.score = dot()}).weights;

  fmt::print("largest weight of query 3: {:.2f} scaled, {:.2f} not scaled\n", example::largest(scaled, 3),
             example::largest(raw, 3));
  example::draw(argc, argv, {{"scaled_dot()", scaled}, {"dot()", raw}});
}
