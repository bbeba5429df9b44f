#include "qkv/picture/packed_weights.h"

#include <algorithm>
#include <cmath>

#include <zlib.h>

#include "qkv/base/base64.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

constexpr int64_t max_exact_weights = 250'000;  // in 16 bits: at most 667 kB of text

void append_16_bits(const Tensor& weights, const ColorScale& scale, std::string& bytes) {
  for (const float weight : weights.span<float>()) {
    const float share = std::clamp((weight - scale.low) / (scale.high - scale.low), 0.0f, 1.0f);
    const auto code = static_cast<uint16_t>(std::lround(share * 65535));
    bytes += static_cast<char>(code & 255);
    bytes += static_cast<char>(code >> 8);
  }
}

void append_8_bits(const Tensor& weights, const ColorScale& scale, std::string& bytes) {
  const float step = step_of_8_bits(weights, scale);
  for (const float weight : weights.span<float>()) bytes += static_cast<char>(std::lround(weight / step));
}

}  // namespace

float largest_magnitude(const Tensor& weights) {
  float largest = 0;
  for (const float weight : weights.span<float>()) largest = std::max(largest, std::abs(weight));
  return largest;
}

float step_of_8_bits(const Tensor& weights, const ColorScale& scale) {
  return std::max(largest_magnitude(weights) / 255, scale.high / 1000);
}

std::string zlib_compressed(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 6);
  require(status == Z_OK, "picture", "zlib cannot compress {} bytes (status {})", bytes.size(), status);
  out.resize(size);
  return out;
}

PackedWeights packed_weights(const PictureContent& content, const ColorScale& scale) {
  int64_t count = 0;
  for (const PanelGroup& group : content.groups)
    for (const Panel& panel : group.panels) count += panel.weights.numel();
  PackedWeights out;
  out.bits = count > max_exact_weights && scale.low >= 0 ? 8 : 16;
  std::string bytes;
  const auto append = out.bits == 8 ? append_8_bits : append_16_bits;
  for (const PanelGroup& group : content.groups)
    for (const Panel& panel : group.panels) append(panel.weights, scale, bytes);
  out.base64 = base64_encoded(zlib_compressed(bytes));
  return out;
}

}  // namespace qkv
