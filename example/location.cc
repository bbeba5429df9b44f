// Queries that encode the position to attend to, whatever the keys are: a wave.
#include "qkv/attention/score/location.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor q = Tensor::full({1, 1, 24, 2}, 1), w = Tensor::empty({24, 2});  // query (p, 1), row j of w (8 u, -4 u^2)
  for (int64_t j = 0; j < 24; ++j) {
    const float u = static_cast<float>(j - 12) / 4;
    q.data<float>()[2 * j] = 2.1f * std::sin(static_cast<float>(j) / 4);
    w.data<float>()[2 * j] = 8 * u,
                        w.data<float>()[2 * j + 1] = -4 * u * u;  // the score is -4 (u - p)^2, and 4 p^2
  }
  const Tensor k = Tensor::zeros({1, 1, 24, 2});
  const Tensor weights = attention_with_weights(q, k, k, {.score = location(w)}).weights;

  fmt::print("query 6 encodes {:.2f}, the position of key 20: weight {:.2f}\n", q.at<float>({0, 0, 6, 0}),
             weights.at<float>({0, 0, 6, 20}));
  example::draw(argc, argv, {{"location(w)", weights}});
}
