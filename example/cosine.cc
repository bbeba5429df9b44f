// Keys of unequal lengths: the dot product prefers the long ones, the cosine compares directions only.
#include "qkv/attention/score/cosine.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor q = example::sequence(24);
  Tensor k = q.clone();
  for (const int64_t longer : {4, 11, 18})
    for (float& number : k.select(0, 0).select(0, 0).select(0, longer).span<float>()) number *= 3;
  const Tensor by_dot = attention_with_weights(q, k, k).weights;
  const Tensor by_cosine = attention_with_weights(q, k, k, {.score = cosine(10)}).weights;

  fmt::print("weight of query 0 on key 4, three times as long: {:.2f} by dot product, {:.2f} by cosine\n",
             by_dot.at<float>({0, 0, 0, 4}), by_cosine.at<float>({0, 0, 0, 4}));
  example::draw(argc, argv, {{"scaled_dot()", by_dot}, {"cosine(10)", by_cosine}});
}
