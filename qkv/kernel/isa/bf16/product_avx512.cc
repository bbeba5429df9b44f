// Products of tiles of bf16 by AVX-512 BF16: dot products of two.

#include "qkv/kernel/isa/bf16/functions.h"
#include "qkv/kernel/isa/tile_product.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

typedef int32_t unit __attribute__((may_alias, aligned(4)));

struct Bf16Unit {
  static constexpr bool fetches_next = true;  // panels of weights
  QKV_INLINE vi broadcast(const float* a) { return broadcast_i(*reinterpret_cast<const unit*>(a)); }
  QKV_INLINE vf multiply_add(vi a, vf x, vf sum) {
    return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), (__m512bh)(a), (__m512bh)(x)));
  }
};

}  // namespace

void begin_products() {}
void end_products() {}
TileProducts bf16_products() { return products_of<Bf16Unit>(); }
const bool columns_as_rows = false;

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
