// The version of the library, as in the project() line of CMakeLists.txt, the only place where it is written.
//
//     fmt::print("qkv {}\n", version());    // qkv 0.1.0
#pragma once

#include <string_view>

namespace qkv {

std::string_view version();

}  // namespace qkv
