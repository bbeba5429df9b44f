#include "qkv/model/decoding.h"

namespace qkv {

Tensor Decoding::extend(std::span<const int32_t> tokens, Pass& pass) {
  std::vector<std::vector<int32_t>> rows;
  for (const int32_t token : tokens) rows.push_back({token});
  return extend(rows, pass);
}

}  // namespace qkv
