// Checkpoint averaging: the mean of the parameters of several checkpoints (Vaswani et al., 2017, section 6.1).
//
//     NamedTensors mean = average_checkpoints({"step-900.safetensors", "step-1000.safetensors"});
//
// Sums are doubles. InputError unless the files hold the same tensors in the same shapes, all of them f32.
#pragma once

#include <filesystem>
#include <span>

#include "qkv/tensor/safetensors.h"

namespace qkv {

NamedTensors average_checkpoints(std::span<const std::filesystem::path> files);

}  // namespace qkv
