// The weights of all panels as text for the page: codes, compressed (zlib), in base64.
//
//     PackedWeights packed = packed_weights(content, scale);
//     packed.bits                                        // 16, or 8 where there are many weights
//
// 16 bits, little-endian: evenly from the low end of the scale to the high one. 8 bits, if no weight is negative: multiples
// of a step of the panel, 1/255 of its maximum, but at least 1/1000 of the high end of the scale: the noise of even weights
// does not compress.
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

struct PackedWeights {
  int bits = 16;
  std::string base64;
};
PackedWeights packed_weights(const PictureContent& content, const ColorScale& scale);

float largest_magnitude(const Tensor& weights);  // contiguous f32
float step_of_8_bits(const Tensor& weights, const ColorScale& scale);

std::string zlib_compressed(std::string_view bytes);

}  // namespace qkv
