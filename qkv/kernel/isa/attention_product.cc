// Products of tiles of floats.

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/tile_product.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

struct Float {
  static constexpr bool fetches_next = false;  // tiles of attention are in the cache
  QKV_INLINE float broadcast(const float* a) { return *a; }
  QKV_INLINE vf multiply_add(float a, vf x, vf sum) { return sum + a * x; }
};

}  // namespace

TileProducts float_products() { return products_of<Float>(); }

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
