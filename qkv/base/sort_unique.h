// Sorts ids, and keeps one of each.
//
//     std::vector<int32_t> ids = {5, 2, 5};
//     sort_unique(ids);                                                // {2, 5}
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace qkv {

inline void sort_unique(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace qkv
