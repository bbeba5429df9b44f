// Products of tiles of bf16, two at a time, in vectors.

#include "qkv/kernel/isa/bf16/pairs.h"
#include "qkv/kernel/isa/tile_product.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

typedef int32_t word __attribute__((may_alias, aligned(4)));

struct Pair {
  QKV_INLINE vi broadcast(const float* a) { return broadcast_i(*reinterpret_cast<const word*>(a)); }
  QKV_INLINE vf multiply_add(vi a, vf x, vf sum) {
    return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), (__m512bh)(a), (__m512bh)(x)));
  }
};

}  // namespace

void begin_products() {}
void end_products() {}
TileProducts pair_products() { return products_of<Pair>(); }
const bool columns_as_rows = false;

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
