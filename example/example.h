// What the examples share: inputs that are the same everywhere, and where the picture goes. Every example is a
// program of its own that prints a small result, and draws it into the file that its command line names:
//
//     build/example/causal causal.svg
//
// The page of the same name in doc/ shows the program, what it prints, and the picture (`make doc`).
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

// Numbers of a normal distribution, the same for the same stream.
inline Tensor normal(const Shape& shape, uint64_t stream, double spread = 1.0) {
  Tensor x = Tensor::empty(shape);
  Random random(1, stream);
  for (float& number : x.span<float>()) number = static_cast<float>(spread * random.normal());
  return x;
}

// A sequence (1,1,length,32) whose neighbours are alike: its rows are sinusoidal positions, made larger.
inline Tensor sequence(int64_t length) {
  Tensor x = sinusoidal(length, 32).reshape({1, 1, length, 32});
  for (float& number : x.span<float>()) number *= 1.5f;
  return x;
}

// 1 where a query gives a key any weight, 0 where it does not.
inline Tensor seen(const Tensor& weights) {
  Tensor out = weights.clone();
  for (float& w : out.span<float>()) w = w > 0 ? 1.0f : 0.0f;
  return out;
}

// The largest weight of a query, of the first batch row and head.
inline float largest(const Tensor& weights, int64_t query) {
  return std::ranges::max(weights.select(0, 0).select(0, 0).select(0, query).span<float>());
}

// The matrix of the first batch row and head, in steps of a hundredth (small numbers: of a 250th). Last
// bits of weights differ between processors, pictures must not: steps end beside the halves that weights like to
// be, and `make doc` refuses a picture that changes when its weights are nudged.
inline Tensor rounded(Tensor x) {
  while (x.rank() > 2) x = x.select(0, 0);
  x = x.clone();
  float most = 0;
  for (const float w : std::as_const(x).span<float>()) most = std::max(most, std::abs(w));
  const float steps = most < 0.25f ? 250.0f : 100.0f;
  const char* nudge = std::getenv("QKV_EXAMPLE_NUDGE");
  const float more = nudge ? std::strtof(nudge, nullptr) : 0.0f;
  for (float& w : x.span<float>())
    if (w != 0) w = std::floor((w + more) * steps + 0.56f) / steps;
  return x;
}

// Saves the picture where the command line says, if it says so.
inline void draw(int argc, char** argv, std::vector<Panel> panels, const PanelsOptions& options = {}) {
  for (Panel& panel : panels) panel.weights = rounded(panel.weights);
  if (argc > 1) heatmaps(std::move(panels), options).save(argv[1]);
}

}  // namespace qkv::example
