#include "qkv/test_support/visible_rule.h"

namespace qkv::test {

VisibleRule visible_by(const MaskPtr& mask, const AttentionShape& shape) {
  if (const bool has_mask = static_cast<bool>(mask); !has_mask) return {};  // !mask would negate it
  mask->check(shape);
  return [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    uint64_t visible = 0;
    mask->fill({{&shape, b, h, i, 1, 1}, j, 1}, &visible);
    return (visible & 1) != 0;
  };
}

}  // namespace qkv::test
