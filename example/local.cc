// Local attention: a window around the query's own position, and around a position that the query predicts.
#include "qkv/attention/local.h"

#include "example/example.h"
#include "qkv/attention/score/dot.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor q = Tensor::empty({1, 1, 24, 1});
  const Tensor k = Tensor::zeros({1, 1, 24, 1}), lengths = Tensor::from(std::vector{24}, {1});
  for (int64_t i = 0; i < 24; ++i) q.data<float>()[i] = static_cast<float>(i - 12) / 6;
  const PredictedWindow near = local_p(q, Tensor::full({1, 1}, 1), Tensor::full({1}, 3), lengths, 4);
  const Tensor monotonic = attention_with_weights(q, k, k, {.score = dot(), .mask = local_m(4)}).weights;
  const Tensor predicted =
      attention_with_weights(q, k, k, {.score = dot(), .mask = near.mask, .reweigh = {near.reweigh}}).weights;

  const Tensor centers = near.p.value();
  fmt::print("windows of queries 0, 8, 16 are centered at {:.1f}, {:.1f}, {:.1f}\n", centers.at<float>({0, 0, 0}),
             centers.at<float>({0, 0, 8}), centers.at<float>({0, 0, 16}));
  example::draw(argc, argv, {{"local_m(4)", monotonic}, {"local_p(..., 4)", predicted}});
}
