// Two hidden units read a sequence backwards: tanh(u + 1) - tanh(u - 1) peaks at u = 0, with u = i + j - 15.
#include "qkv/attention/score/additive.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor q = Tensor::full({1, 1, 16, 2}, 1), k = Tensor::empty({1, 1, 16, 1});  // query (i, 1), key (j)
  for (int64_t i = 0; i < 16; ++i) q.data<float>()[2 * i] = k.data<float>()[i] = static_cast<float>(i);
  const Tensor w_q = Tensor::from({1, 1 - 15, 1, -1 - 15}, {2, 2}), w_k = Tensor::from({1, 1}, {2, 1});
  const Tensor w_v = Tensor::from({3, -3}, {2});
  const Tensor weights = attention_with_weights(q, k, k, {.score = additive(w_q, w_k, w_v)}).weights;

  fmt::print("query 0 gives key 15 the weight {:.2f}\n", weights.at<float>({0, 0, 0, 15}));
  example::draw(argc, argv, {{"additive(w_q, w_k, w_v)", weights}});
}
