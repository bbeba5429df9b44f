// Parameters from files: one number that is not finite would spread to the whole output.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// InputError that begins with `where` and has the name of the tensor.
inline void check_finite(const Tensor& values, const std::string& where, std::string_view name) {
  for (const float x : values.span<float>())
    if (!std::isfinite(x)) fail<InputError>(where, "tensor {} holds {}", quoted_name(name), x);
}

}  // namespace qkv
