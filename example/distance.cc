// Points on a line: the nearer a key, the larger its weight; sigma sets the width.
#include "qkv/attention/score/distance.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor x = Tensor::empty({1, 1, 24, 1});
  for (int64_t i = 0; i < 24; ++i) x.data<float>()[i] = 0.42f * static_cast<float>(i);
  const auto weights = [&](const ScorePtr& score) {
    return attention_with_weights(x, x, x, {.score = score}).weights;
  };
  const Tensor narrow = weights(gaussian(0.5f)), one = weights(distance()), wide = weights(gaussian(2));

  fmt::print("weight of point 12 on itself: {:.2f}, {:.2f}, {:.2f}\n", example::largest(narrow, 12),
             example::largest(one, 12), example::largest(wide, 12));
  example::draw(argc, argv, {{"gaussian(0.5)", narrow}, {"distance(), sigma 1", one}, {"gaussian(2)", wide}});
}
