// Parameters from files: one number that is not finite would spread to the whole output.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// Of f32 or bf16 values. InputError that begins with `where` and has the name of the tensor.
inline void check_finite(const Tensor& values, const std::string& where, std::string_view name) {
  const auto check = [&](auto numbers) {
    for (const auto number : numbers)
      if (const auto x = static_cast<float>(number); !std::isfinite(x))
        fail<InputError>(where, "tensor {} holds {}", quoted_name(name), x);
  };
  if (values.dtype() == DType::bf16)
    check(values.span<bfloat16>());
  else
    check(values.span<float>());
}

}  // namespace qkv
