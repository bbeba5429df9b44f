// Shared by the examples: reproducible inputs, and drawing. Every example prints a small result and saves a heat
// map to the file named on its command line:
//
//     build/example/causal causal.svg
//
// The page of the same name in doc/ shows the program, its output and the picture (`make doc`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "qkv/attention/attention.h"
#include "qkv/base/random.h"
#include "qkv/op/position.h"
#include "qkv/picture/heatmap.h"

namespace qkv::example {

// Normally distributed numbers, the same for the same stream.
inline Tensor normal(const Shape& shape, uint64_t stream, double spread = 1.0) {
  Tensor x = Tensor::empty(shape);
  Random random(1, stream);
  for (float& number : x.span<float>()) number = static_cast<float>(spread * random.normal());
  return x;
}

// A sequence (1,1,length,32) of similar neighbors: scaled sinusoidal positions.
inline Tensor sequence(int64_t length) {
  Tensor x = sinusoidal(length, 32).reshape({1, 1, length, 32});
  for (float& number : x.span<float>()) number *= 1.5f;
  return x;
}

// 1 where the weight is positive, else 0.
inline Tensor visible(const Tensor& weights) {
  Tensor out = weights.clone();
  for (float& w : out.span<float>()) w = w > 0 ? 1.0f : 0.0f;
  return out;
}

// The largest weight of a query in the first batch row and head.
inline float largest(const Tensor& weights, int64_t query) {
  return std::ranges::max(weights.select(0, 0).select(0, 0).select(0, query).span<float>());
}

// The matrix of the first batch row and head, rounded to 1/100 (to 1/250 if all weights are small): weights may
// differ between processors in their last bits, pictures must not. The offset 0.56 keeps common weights such as 1/2
// away from the rounding limits, and `make doc` refuses a picture that changes when its weights change by 2e-6
// (QKV_EXAMPLE_NUDGE).
inline Tensor rounded(Tensor x) {
  while (x.rank() > 2) x = x.select(0, 0);
  x = x.clone();
  float largest = 0;
  for (const float w : std::as_const(x).span<float>()) largest = std::max(largest, std::abs(w));
  const float steps = largest < 0.25f ? 250.0f : 100.0f;
  const char* nudge = std::getenv("QKV_EXAMPLE_NUDGE");
  const float shift = nudge ? std::strtof(nudge, nullptr) : 0.0f;
  for (float& w : x.span<float>())
    if (w != 0) w = std::floor((w + shift) * steps + 0.56f) / steps;
  return x;
}

// Saves the heat maps to the file named on the command line, if any.
inline void draw(int argc, char** argv, std::vector<Panel> panels, const PanelsOptions& options = {}) {
  for (Panel& panel : panels) panel.weights = rounded(panel.weights);
  if (argc > 1) heatmaps(std::move(panels), options).save(argv[1]);
}

}  // namespace qkv::example
