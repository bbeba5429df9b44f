// Regression without training: 24 noisy points of y = 2 sin(x) + x, smoothed by four kernels.
#include "example/example.h"
#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/score/distance.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor x = Tensor::empty({1, 1, 24, 1}), noise = example::normal({24}, 5, 0.5), at = x.clone(), y = x.clone();
  const auto curve = [](float t) { return 2 * std::sin(t) + t; };
  for (int64_t i = 0; i < 24; ++i) {
    at.data<float>()[i] = static_cast<float>(i) / 4.8f;
    x.data<float>()[i] = 5 * std::pow(static_cast<float>(i) / 24, 0.75f);  // fewer at the left
    y.data<float>()[i] = curve(x.data<float>()[i]) + noise.data<float>()[i];
  }
  std::vector<Panel> panels;
  for (const NormalizerPtr& kernel : {softmax(), boxcar(), epanechnikov(), triangular()}) {
    const auto [out, weights, lse] =
        attention_with_weights(at, x, y, {.score = gaussian(0.7f), .normalize = kernel});
    float error = 0;
    for (int64_t i = 0; i < 24; ++i) error += std::abs(out.data<float>()[i] - curve(at.data<float>()[i])) / 24;
    fmt::print("{:14} mean error {:.2f}\n", kernel->name(), error);
    panels.push_back({kernel->name(), weights});
  }
  example::draw(argc, argv, panels, {.per_line = 2});
}
