#include "qkv/model/encoded.h"

#include "qkv/attention/cache.h"

namespace qkv {

Encoded gather_rows(const Encoded& encoded, std::span<const int64_t> rows) {
  Encoded some;
  some.memory = gather_rows(encoded.memory.value(), rows);
  for (const int64_t row : rows) some.lengths.push_back(encoded.lengths[static_cast<size_t>(row)]);
  for (const Variable& layer : encoded.state) some.state.push_back(gather_rows(layer.value(), rows));
  return some;
}

}  // namespace qkv
