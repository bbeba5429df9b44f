// Division of counts that does not lose a rest: parts of a size that hold n items, and the items that such parts have room for.
//
//     ceil_div(130, 64)      // 3
//     rounded_up(130, 64)    // 192
#pragma once

#include <concepts>
#include <type_traits>

namespace qkv {

template <std::integral Integer>
constexpr Integer ceil_div(Integer n, std::type_identity_t<Integer> size) {
  return (n + size - 1) / size;
}
template <std::integral Integer>
constexpr Integer rounded_up(Integer n, std::type_identity_t<Integer> multiple) {
  return ceil_div(n, multiple) * multiple;
}

}  // namespace qkv
