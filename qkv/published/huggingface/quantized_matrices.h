// Matrices that a folder of Hugging Face stores as integers with scales. Their values are held as they are, without loss:
//
// | quant_method, format               | tensors of the layer X, (N,K)                                  | held as           |
// | compressed-tensors, int-quantized  | X.weight I8 (N,K), X.weight_scale (1), (N,1) or (N,K/group)     | int8, q8_0        |
// | compressed-tensors, pack-quantized | X.weight_packed I32, X.weight_scale, X.weight_shape; 4, 8 bits | q4_0, int8, q8_0  |
// | bitsandbytes, 8 bits               | X.weight I8 (N,K), X.SCB (N): 127 times the scale               | int8              |
//
// Symmetric numbers only: a value is an integer times a scale. f16 holds the scales of q4_0 and q8_0, whose blocks are 32
// numbers: where it cannot, or where groups are not blocks, values are held as f32. The outlier columns that bitsandbytes
// computes in f16 are not treated apart.
//
//     tensors.compose(quantized_matrices(tensors));        // PublishedTensors: get("X.weight") gives the values
//
// InputError for zero points other than 0, for scales of activations, and for shapes that do not fit together.
#pragma once

#include "qkv/published/published_tensors.h"

namespace qkv {

std::map<std::string, ComposedTensor> quantized_matrices(const PublishedTensors& tensors);

}  // namespace qkv
