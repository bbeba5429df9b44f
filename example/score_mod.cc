// Custom functions: a score modification that decays with the logarithm of the distance, and the Manhattan score.
#include "qkv/attention/modify/score_mod.h"

#include "example/example.h"
#include "qkv/attention/score/score_function.h"

using namespace qkv;

int main(int argc, char** argv) {
  const ModifierPtr decay = score_mod([](auto score, int64_t, int64_t head, int64_t query, int64_t key) {
    return score - 0.5f * static_cast<float>(head + 1) * std::log1p(static_cast<float>(std::abs(query - key)));
  });
  const ScorePtr manhattan = score_function([](const float* q, const float* k, int64_t D) {
    float score = 0;
    for (int64_t d = 0; d < D; ++d) score -= std::abs(q[d] - k[d]);
    return score / 8;
  });
  const Variable x(example::sequence(20).expand({1, 2, 20, 32}).contiguous_copy(), {.requires_grad = true});
  const auto [out, weights, lse] = attention_with_weights(x, x, x, {.modify = {decay}});
  out.backward(Tensor::full({1, 2, 20, 32}, 1));  // the derivative is computed from the function
  const Tensor distance = attention_with_weights(x.value(), x.value(), x.value(), {.score = manhattan}).weights;

  fmt::print("weight of query 12 on key 8: {:.3f} in head 0, {:.3f} in head 1; with the Manhattan score {:.3f}\n",
             weights.at<float>({0, 0, 12, 8}), weights.at<float>({0, 1, 12, 8}), distance.at<float>({0, 0, 12, 8}));
  fmt::print("gradient of x: {}\n", x.grad().shape());
  example::draw(argc, argv,
                {{"score_mod, head 0", weights.select(1, 0)},
                 {"score_mod, head 1", weights.select(1, 1)},
                 {"score_function", distance}});
}
