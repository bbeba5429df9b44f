// Scores so large that the softmax gives all weight to one key, until they are capped.
#include "qkv/attention/modify/softcap.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor q = example::normal({1, 1, 12, 32}, 1, 4), k = example::normal({1, 1, 12, 32}, 2, 2);
  const Tensor raw = attention_with_weights(q, k, k).weights;
  const Tensor capped = attention_with_weights(q, k, k, {.modify = {softcap(3)}}).weights;

  fmt::print("largest weight of query 0: {:.2f}, capped: {:.2f}; a weight is at most e^6 times another\n",
             example::largest(raw, 0), example::largest(capped, 0));
  example::draw(argc, argv, {{"not capped", raw}, {"softcap(3)", capped}});
}
