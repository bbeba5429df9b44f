// The largest tile of c in a matrix product whose sums fit the registers together with a row of a panel and one
// element of a: 32 registers hold 6 x 4 vectors, 16 hold 6 x 2.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

constexpr int tile_rows = 6;
constexpr int tile_vectors = registers == 32 ? 4 : 2;
constexpr int panel_width = tile_vectors * lanes;

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
