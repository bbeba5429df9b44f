// Queries and keys in different spaces: the keys are the queries, projected to another width.
#include "qkv/attention/score/bilinear.h"

#include "example/example.h"
#include "qkv/op/linear.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor q = example::normal({1, 1, 16, 12}, 1), projection = example::normal({40, 12}, 2, 0.15);
  const Tensor k = linear(q, projection).value(), v = k;  // (1,1,16,40)
  const Tensor transposed = projection.transpose(0, 1).clone(), random = example::normal({12, 40}, 3, 0.15);
  const Tensor before = attention_with_weights(q, k, v, {.score = bilinear(random)}).weights;
  const Tensor after = attention_with_weights(q, k, v, {.score = bilinear(transposed)}).weights;

  fmt::print("weight of query 3 on its own key: {:.2f}; with a random m: {:.2f}\n", after.at<float>({0, 0, 3, 3}),
             before.at<float>({0, 0, 3, 3}));
  example::draw(argc, argv, {{"m is random", before}, {"m is the transposed projection", after}});
}
