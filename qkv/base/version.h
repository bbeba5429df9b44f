// The version of the library. It is defined only here.
//
//     #if QKV_VERSION_MAJOR == 0 && QKV_VERSION_MINOR < 3
//     fmt::print("qkv {}\n", qkv::version());    // qkv 0.2.0: of the library that is linked
#pragma once

#include <string_view>

#define QKV_VERSION_MAJOR 0
#define QKV_VERSION_MINOR 2
#define QKV_VERSION_PATCH 0

namespace qkv {

std::string_view version();

}  // namespace qkv
