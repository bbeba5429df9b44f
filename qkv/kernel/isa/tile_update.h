// What a product of tiles does with C, and the table of a product that is compiled for each of it.
//
//     tile_products([]<Update update>(const TileProduct& t, const float* factor) { product<update>(t, factor); })
#pragma once

#include "qkv/kernel/attention_kernels.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

enum class Update { overwrite, add, rescale };  // the members of TileProducts

// `factor` is null but for rescale.
template <class Product>
constexpr TileProducts tile_products(Product) {
  return {.overwrite = [](const TileProduct& t) { Product{}.template operator()<Update::overwrite>(t, nullptr); },
          .add = [](const TileProduct& t) { Product{}.template operator()<Update::add>(t, nullptr); },
          .rescale = [](const TileProduct& t,
                        const float* factor) { Product{}.template operator()<Update::rescale>(t, factor); }};
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
