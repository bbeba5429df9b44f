// Sixteen buckets of distances, and the weights from scores of 0 plus one bias per bucket.
#include "qkv/attention/modify/relative_bias.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const RelativeBuckets options = {.num_buckets = 16, .max_distance = 24};
  Tensor buckets = Tensor::empty({24, 24}), x = Tensor::zeros({1, 1, 24, 8});
  for (int64_t i = 0; i < 24; ++i)
    for (int64_t j = 0; j < 24; ++j)
      buckets.data<float>()[24 * i + j] = static_cast<float>(relative_bucket(j - i, options)) / 15;
  const Variable table = example::normal({16, 1}, 2, 1.5);
  const Tensor weights = attention_with_weights(x, x, x, {.modify = {relative_bias(table, options)}}).weights;

  fmt::print("distances 0, -1, -10, -20 and 1: buckets {}, {}, {}, {} and {}\n", relative_bucket(0, options),
             relative_bucket(-1, options), relative_bucket(-10, options), relative_bucket(-20, options),
             relative_bucket(1, options));
  example::draw(argc, argv, {{"bucket / 15", buckets}, {"weights", weights}});
}
