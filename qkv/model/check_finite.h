// Parameters from files: one number that is not finite would spread to the whole output.
#pragma once

#include <string>
#include <string_view>

#include "qkv/op/weight.h"

namespace qkv {

// Of values in any format, contiguous. InputError that begins with `where` and has the name of the tensor.
void check_finite(const StoredValues& values, const std::string& where, std::string_view name);

}  // namespace qkv
